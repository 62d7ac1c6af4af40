"""Three brokers with a control API at a port, for the fault situations that mocks are used for."""

from collections.abc import Iterator

import pytest

from broker_lite.testing import Broker
from tests.conformance.group import SHORT_TIMES
from tests.support.broker_process import BrokerProcess

SETTINGS = (
    *SHORT_TIMES,
    "broker.session.timeout.ms=0",
    "offsets.topic.num.partitions=1",
    "transaction.state.log.num.partitions=1",
    "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector",
)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """The process of the cluster; broker 2 is in the rack b."""
    data_dir = tmp_path_factory.mktemp("mocks") / "data"
    arguments = ("--brokers=3", "--racks=a,b,c", "--control=127.0.0.1:0")
    with BrokerProcess(data_dir, settings=SETTINGS, arguments=arguments) as started:
        yield started


@pytest.fixture(scope="session")
def connected(served: BrokerProcess) -> Broker:
    """The cluster, driven by its control API over HTTP."""
    return Broker.connect(served.control_url)


@pytest.fixture
def cluster(connected: Broker) -> Broker:
    """The cluster without faults: all brokers are up, and nothing is recorded yet."""
    connected.clear_faults()
    connected.heal()
    connected.record_requests()
    connected.control("DELETE", "/v1/requests")
    return connected


@pytest.fixture
def topic(cluster: Broker, topic: str) -> str:
    """A new topic with three replicas of its four partitions, which broker 1 leads."""
    cluster.create_topic(topic, partitions=4)
    for partition in range(4):
        cluster.move_leader(topic, partition, to=1)
    return topic
