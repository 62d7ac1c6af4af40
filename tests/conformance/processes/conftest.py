"""A cluster of three processes that clients are run against."""

from collections.abc import Iterator

import psutil
import pytest

from broker_lite.testing import Broker
from tests.conformance.clients import CLIENTS, Builds, Client
from tests.conformance.cluster.scene import Scene
from tests.conformance.group import SHORT_TIMES
from tests.conformance.program import Programs

PROCESSES = 3


@pytest.fixture(scope="session")
def cluster() -> Iterator[Broker]:
    """Three processes, with few partitions of state."""
    settings: dict[str, object] = dict(line.split("=", 1) for line in SHORT_TIMES)
    settings["broker.lite.processes"] = str(PROCESSES)
    settings["broker.session.timeout.ms"] = "3000"
    with Broker(settings) as started:
        yield started


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Client:
    """The client that the test names."""
    return next(each for each in CLIENTS if each.name == request.param)


@pytest.fixture
def scene(client: Client, cluster: Broker, topic: str, programs: Programs, builds: Builds) -> Scene:
    """A client at the cluster."""
    return Scene(client, cluster, topic, programs, builds)


def further_processes(cluster: Broker) -> list[psutil.Process]:
    """The processes of all brokers but the first one."""
    return [
        process
        for process in psutil.Process(cluster.pid).children()
        if process.name().startswith("broker-lite ")
    ]
