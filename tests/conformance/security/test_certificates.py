"""What clients say of a wrong certificate of ours is what they say of a real Kafka's."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from broker_lite.settings.declared.one_word_settings import CERTIFICATE_FAULTS, CertificateFault
from tests.conformance.clients import RUST_TIMEOUT_S, TIMEOUT_S, Builds
from tests.conformance.security.programs import run_cases
from tests.conformance.security.refusals import errors_of, recorded_of
from tests.conformance.security.secured import CLIENTS
from tests.conformance.security.spoiled import (
    Spoiled,
    spoiled_broker_lite,
    spoiled_cases,
    spoiled_kafka,
)
from tests.support.tls_client import seen_with_ca
from tests.support.toolchain import require

pytestmark = [pytest.mark.client, pytest.mark.timeout(RUST_TIMEOUT_S + TIMEOUT_S)]

PYTHON: Mapping[CertificateFault, str] = {
    "expired": "certificate has expired",
    "not_yet_valid": "certificate is not yet valid",
    "wrong_host": "IP address mismatch, certificate is not valid for '127.0.0.1'.",
    "self_signed": "self-signed certificate",
    "unknown_ca": "unable to get local issuer certificate",
}
"""What OpenSSL says, by Python's ssl."""
JAVA: Mapping[CertificateFault, str] = {
    "expired": "CertificateExpiredException",
    "not_yet_valid": "CertificateNotYetValidException",
    "wrong_host": "CertificateException",
    "self_signed": "SunCertPathBuilderException",
    "unknown_ca": "SunCertPathBuilderException",
}
"""What is the first cause of Java's SslAuthenticationException."""


@pytest.fixture(
    scope="module", params=["broker-lite", pytest.param("Kafka", marks=pytest.mark.kafka)]
)
def spoiled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Spoiled]:
    if request.param == "Kafka":
        require("java", "mvn")
        with spoiled_kafka(tmp_path_factory.mktemp("kafka")) as found:
            yield found
    else:
        with spoiled_broker_lite() as found:
            yield found


@pytest.mark.parametrize("fault", CERTIFICATE_FAULTS)
def test_x40_python(spoiled: Spoiled, fault: CertificateFault) -> None:
    assert seen_with_ca(spoiled.addresses[fault], spoiled.ca) == PYTHON[fault]


@pytest.mark.parametrize("client", CLIENTS)
def test_x40_errors_are_as_recorded(
    spoiled: Spoiled, client: str, builds: Builds, tmp_path: Path
) -> None:
    cases = [*spoiled_cases(spoiled, tmp_path)]
    told, complaints = run_cases(client, builds, cases, tmp_path)
    assert errors_of(told) == recorded_of(client, cases), complaints
    if client == "java":
        assert {case: steps["reason"] for case, steps in told.items()} == {
            f"SSL.{fault}": reason for fault, reason in JAVA.items()
        }
