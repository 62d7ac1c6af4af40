"""The clusters of three brokers that clients are run against, and what a test does there."""

from collections.abc import Iterator

import pytest

from broker_lite.testing import Broker
from tests.conformance.clients import CLIENTS, Builds, Client
from tests.conformance.cluster.scene import Scene
from tests.conformance.group import SHORT_TIMES
from tests.conformance.program import Programs

STATE_PARTITIONS = 3
OLDER = "3.5"
"""A release whose brokers do not tell a client the new leader (KIP-951 came with 3.7)."""


@pytest.fixture(scope="session")
def broker_settings() -> dict[str, object]:
    """Three replicas of everything, and short times."""
    settings: dict[str, object] = dict(line.split("=", 1) for line in SHORT_TIMES)
    return settings | {
        "auto.create.topics.enable": False,
        "default.replication.factor": 3,
        "offsets.topic.num.partitions": STATE_PARTITIONS,
        "offsets.topic.replication.factor": 3,
        "transaction.state.log.num.partitions": STATE_PARTITIONS,
        "transaction.state.log.replication.factor": 3,
        "transaction.state.log.min.isr": 2,
        "replica.lag.time.max.ms": 3_600_000,
    }


@pytest.fixture(scope="session")
def older_cluster(broker_settings: dict[str, object]) -> Iterator[Broker]:
    """Three brokers of an older release."""
    settings = {"broker.session.timeout.ms": 0, **broker_settings, "emulate": OLDER}
    with Broker(settings, brokers=3) as started:
        yield started


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Client:
    """The client that the test names."""
    return next(each for each in CLIENTS if each.name == request.param)


@pytest.fixture
def scene(
    client: Client, broker_cluster: Broker, topic: str, programs: Programs, builds: Builds
) -> Scene:
    """A client at the cluster of this release."""
    return Scene(client, broker_cluster, topic, programs, builds)


@pytest.fixture
def older_scene(
    client: Client, older_cluster: Broker, topic: str, programs: Programs, builds: Builds
) -> Scene:
    """A client at the cluster of the older release."""
    older_cluster.heal()
    return Scene(client, older_cluster, topic, programs, builds)
