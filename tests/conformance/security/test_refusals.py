"""Clients that are refused, or lack a right: each calls its error as it does with a real Kafka."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.clients import RUST_TIMEOUT_S, TIMEOUT_S, Builds
from tests.conformance.security.programs import run_cases
from tests.conformance.security.refusals import errors_of, recorded_of
from tests.conformance.security.secured import CLIENTS, Secured, broker_lite, kafka, refused_cases
from tests.support.toolchain import require

pytestmark = [
    pytest.mark.client,
    pytest.mark.slow,
    pytest.mark.timeout(RUST_TIMEOUT_S + TIMEOUT_S),
]
WITH_KAFKA = ("confluent", "aiokafka", "kafka_python", "java")
"""The clients that are refused by a real Kafka, too, when the tests run."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with broker_lite(tmp_path_factory.mktemp("secured") / "broker") as found:
        yield found


@pytest.fixture(scope="module")
def real_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    require("java", "mvn")
    with kafka(tmp_path_factory.mktemp("secured") / "kafka") as found:
        yield found


@pytest.mark.parametrize("client", CLIENTS)
def test_x06_x10_x40_x46_x47_x49_x50_x51_x54_x55_errors_are_as_recorded(
    client: str, broker: Secured, builds: Builds, tmp_path: Path
) -> None:
    cases = [*refused_cases(client, broker)]
    told, complaints = run_cases(client, builds, cases, tmp_path)
    assert errors_of(told) == recorded_of(client, cases), complaints


@pytest.mark.kafka
@pytest.mark.parametrize("client", WITH_KAFKA)
def test_x06_x10_x40_x46_x47_x49_x50_x51_x54_x55_errors_are_those_of_a_real_kafka(
    client: str, real_kafka: Secured, builds: Builds, tmp_path: Path
) -> None:
    cases = [*refused_cases(client, real_kafka)]
    told, complaints = run_cases(client, builds, cases, tmp_path)
    assert errors_of(told) == recorded_of(client, cases), complaints
