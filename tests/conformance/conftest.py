"""The broker that the clients are run against: ours, or what CONFORMANCE_BOOTSTRAP names."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.clients import Builds
from tests.conformance.group import SHORT_TIMES
from tests.conformance.program import Programs
from tests.support.broker_process import BrokerProcess
from tests.support.reference_kafka import ReferenceKafka
from tests.support.toolchain import require


@pytest.fixture(scope="session")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """HOST:PORT of a running broker; another one than ours has to have SHORT_TIMES too."""
    other = os.environ.get("CONFORMANCE_BOOTSTRAP")
    if other:
        yield other
        return
    data_dir = tmp_path_factory.mktemp("conformance") / "data"
    with BrokerProcess(data_dir, settings=SHORT_TIMES) as broker:
        yield broker.bootstrap


@pytest.fixture(scope="session")
def java() -> None:
    """What Kafka's own tools and its broker need."""
    require("java", "mvn")


@pytest.fixture(scope="module", params=["broker-lite", "Kafka"])
def either(
    request: pytest.FixtureRequest, java: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """HOST:PORT of one broker and then of the other."""
    if request.param == "broker-lite":
        yield request.getfixturevalue("bootstrap")
        return
    with ReferenceKafka(tmp_path_factory.mktemp("kafka")) as kafka:
        yield kafka.bootstrap


@pytest.fixture
def topic() -> str:
    """A topic name that no other test uses."""
    return f"topic-{uuid.uuid4().hex}"


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    """The programs of the clients, built when they are asked for."""
    return Builds(tmp_path_factory.mktemp("programs"))


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    """The programs of one test."""
    with Programs(tmp_path) as started:
        yield started
