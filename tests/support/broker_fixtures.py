"""Fixtures for whoever asks a running broker; a conftest.py imports those that its tests use."""

import uuid
from collections.abc import Iterator

import pytest

from tests.support.broker_process import BrokerProcess


@pytest.fixture(scope="session")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """HOST:PORT of a running broker."""
    data_dir = tmp_path_factory.mktemp("broker") / "data"
    with BrokerProcess(data_dir, settings=["group.initial.rebalance.delay.ms=0"]) as broker:
        yield broker.bootstrap


@pytest.fixture(scope="session")
def old_bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """HOST:PORT of a running broker that speaks what Kafka 2.6 spoke."""
    data_dir = tmp_path_factory.mktemp("old-broker") / "data"
    with BrokerProcess(data_dir, settings=["emulate=2.6"]) as broker:
        yield broker.bootstrap


@pytest.fixture
def topic() -> str:
    """A topic name that no other test uses."""
    return f"topic-{uuid.uuid4().hex}"
