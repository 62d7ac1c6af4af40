"""Clients that check a wrong certificate: what they say of ours is what they say of a real Kafka's.

Each fault has a broker of ours, or a listener of Kafka, and all are in force at once.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from broker_lite.security.one_word.maker import make, make_faulty
from broker_lite.settings.declared.one_word_settings import CERTIFICATE_FAULTS, CertificateFault
from broker_lite.testing import Broker
from tests.conformance.clients import Builds
from tests.conformance.security.programs import run_cases
from tests.support.reference_kafka import ReferenceKafka, free_port
from tests.support.tls_client import seen_with_ca
from tests.support.toolchain import require

pytestmark = pytest.mark.client

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
CONFLUENT = "certificate verify failed"
"""What librdkafka says of all of them; it calls the error now _SSL, now _TRANSPORT."""


class Spoiled(NamedTuple):
    """A broker with wrong certificates.

    Attributes:
        addresses: HOST:PORT by fault.
        ca: PEM of the CA that clients trust.
    """

    addresses: Mapping[CertificateFault, str]
    ca: str


@pytest.fixture(
    scope="module", params=["broker-lite", pytest.param("Kafka", marks=pytest.mark.kafka)]
)
def spoiled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Spoiled]:
    if request.param == "Kafka":
        yield from _kafka(tmp_path_factory.mktemp("kafka"))
    else:
        yield from _broker_lite()


def _broker_lite() -> Iterator[Spoiled]:
    with Broker(security="ssl", brokers=len(CERTIFICATE_FAULTS)) as broker:
        for node, fault in enumerate(CERTIFICATE_FAULTS, 1):
            broker.certificate_fault(fault, node=node)
        addresses = dict(zip(CERTIFICATE_FAULTS, broker.addresses, strict=True))
        yield Spoiled(addresses, str(broker.control("GET", "/v1/security/ca.pem")))


def _kafka(folder: Path) -> Iterator[Spoiled]:
    require("java", "mvn")
    names = ["127.0.0.1", "localhost"]
    made = make({"names": names, "users": [], "ca": "", "ca_key": "", "token_key": {"kty": "x"}})
    addresses = {fault: f"127.0.0.1:{free_port()}" for fault in CERTIFICATE_FAULTS}
    listeners = {fault: fault.replace("_", "") for fault in CERTIFICATE_FAULTS}
    protocols = {name.upper(): "SSL" for name in listeners.values()}
    protocols |= {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT"}
    settings = {
        "listener.security.protocol.map": ",".join(f"{k}:{v}" for k, v in protocols.items()),
    }
    for fault, name in listeners.items():
        asked = {"fault": fault, "names": names, "ca": made["ca"], "ca_key": made["ca_key"]}
        keys = folder / f"{fault}.pem"
        keys.write_text(str(make_faulty(asked)["server"]))
        prefix = f"listener.name.{name}.ssl.keystore."
        settings |= {f"{prefix}type": "PEM", f"{prefix}location": str(keys)}
    more = "".join(f",{listeners[fault].upper()}://{at}" for fault, at in addresses.items())
    kafka = ReferenceKafka(
        folder / "data", settings=settings, more_listeners=more, is_short_lived=True
    )
    with kafka:
        yield Spoiled(addresses, str(made["ca"]))


@pytest.mark.parametrize("fault", CERTIFICATE_FAULTS)
def test_x40_python(spoiled: Spoiled, fault: CertificateFault) -> None:
    assert seen_with_ca(spoiled.addresses[fault], spoiled.ca) == PYTHON[fault]


@pytest.mark.parametrize("fault", CERTIFICATE_FAULTS)
def test_x40_confluent_kafka(spoiled: Spoiled, fault: CertificateFault) -> None:
    errors: list[KafkaError] = []
    producer = Producer(
        {
            "bootstrap.servers": spoiled.addresses[fault],
            "security.protocol": "ssl",
            "ssl.ca.pem": spoiled.ca,
            "error_cb": errors.append,
        }
    )
    with pytest.raises(KafkaException):
        producer.list_topics(timeout=3)
    producer.poll(1)
    assert errors[0].code() in (KafkaError._SSL, KafkaError._TRANSPORT)
    assert CONFLUENT in errors[0].str()


def test_x40_java(spoiled: Spoiled, builds: Builds, tmp_path: Path) -> None:
    require("java", "javac", "mvn")
    ca = tmp_path / "ca.pem"
    ca.write_text(spoiled.ca)
    lines = [
        f"{fault} fails bootstrap={address} protocol=SSL topic=t ca={ca}"
        for fault, address in spoiled.addresses.items()
    ]
    told, complaints = run_cases("java", builds, lines, tmp_path)
    expected = {
        fault: {"error": "SslAuthenticationException", "reason": reason}
        for fault, reason in JAVA.items()
    }
    assert told == expected, complaints
