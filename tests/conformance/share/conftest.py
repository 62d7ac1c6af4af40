"""Brokers of one process and of two whose locks are short, and a client that shares records."""

from collections.abc import Iterator
from typing import Final

import pytest

from broker_lite.testing import Broker
from tests.conformance.clients import CLIENTS, Builds
from tests.conformance.program import Programs
from tests.conformance.share.scene import ShareScene

SHARE_SETTINGS: Final = {
    "group.share.min.record.lock.duration.ms": 1000,
    "group.share.heartbeat.interval.ms": 500,
    "group.share.min.heartbeat.interval.ms": 500,
    "share.coordinator.state.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
}


@pytest.fixture(scope="session")
def one_process() -> Iterator[Broker]:
    """One process with all partitions."""
    with Broker(SHARE_SETTINGS) as broker:
        yield broker


@pytest.fixture(scope="session")
def two_processes() -> Iterator[Broker]:
    """Two processes, each with the records of its partitions."""
    with Broker({**SHARE_SETTINGS, "broker.lite.processes": 2}) as broker:
        yield broker


@pytest.fixture
def scene(
    request: pytest.FixtureRequest, topic: str, programs: Programs, builds: Builds
) -> ShareScene:
    """The client that the test names, at the brokers that it names."""
    name, place = request.param
    client = next(each for each in CLIENTS if each.name == name)
    return ShareScene(client, request.getfixturevalue(place), topic, programs, builds)
