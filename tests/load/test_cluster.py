"""What a load asks a cluster: the topic, leaders, offsets."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from broker_lite.client import Address, Client, NoConnection, Refused
from broker_lite.load.cluster import Cluster
from broker_lite.load.part import Part
from broker_lite.testing import Broker


@contextmanager
def cluster_of(bootstrap: str, topic: str) -> Iterator[Cluster]:
    cluster = Cluster(Client(bootstrap, client_id="me"), topic, Client)
    yield cluster
    cluster.close()


def test_a_topic_is_made_once(bootstrap: str, topic: str) -> None:
    with cluster_of(bootstrap, topic) as cluster:
        cluster.create_topic(3)
        assert cluster.wait_for_leaders() == 3
        cluster.create_topic(5)
        assert cluster.wait_for_leaders() == 3
        assert cluster.offsets(earliest=False) == dict.fromkeys(range(3), 0)
        assert cluster.offsets(earliest=True) == dict.fromkeys(range(3), 0)
        view = cluster.look([1])
        assert view.leaders == dict.fromkeys(range(3), 1)
        assert (view.partition_count, view.starts) == (3, {1: 0})
        assert view.addresses == {1: Address.parse(bootstrap)}
        assert (cluster.client_id, cluster.timeout_s) == ("me", 30)


def test_a_topic_that_does_not_exist(bootstrap: str, topic: str) -> None:
    with cluster_of(bootstrap, topic) as cluster:
        for ask in (cluster.wait_for_leaders, cluster.look):
            with pytest.raises(Refused, match=f"topic {topic}: UNKNOWN_TOPIC_OR_PARTITION"):
                ask()
        with pytest.raises(Refused, match="UNKNOWN_TOPIC_OR_PARTITION"):
            cluster.offsets(earliest=True)


def test_a_topic_that_the_broker_refuses(bootstrap: str) -> None:
    with (
        cluster_of(bootstrap, "a" * 300) as cluster,
        pytest.raises(Refused, match="INVALID_TOPIC_EXCEPTION"),
    ):
        cluster.create_topic(1)


def test_connections(bootstrap: str, topic: str) -> None:
    with cluster_of(bootstrap, topic) as cluster:
        with cluster.open(1, Address.parse(bootstrap)) as connection:
            assert connection.versions
        with pytest.raises(NoConnection, match="there is no broker 7"):
            cluster.open(7, None)


def test_another_broker_is_asked_if_one_has_gone() -> None:
    with (
        Broker(topics=["load"], brokers=2) as broker,
        cluster_of(broker.addresses[1], "load") as cluster,
    ):
        assert cluster.look().partition_count == 1
        broker.brokers[2].down()
        assert cluster.look().partition_count == 1


def test_the_part_of_a_process(bootstrap: str, topic: str) -> None:
    with cluster_of(bootstrap, topic) as cluster:
        cluster.create_topic(5)
        cluster.wait_for_leaders()
    client = Client(bootstrap)
    cluster = Cluster(client, topic, Client, Part(1, 2))
    assert cluster.wait_for_leaders() == 5
    view = cluster.look()
    assert (list(view.leaders), view.partition_count) == ([1, 3], 2)
    assert cluster.offsets(earliest=False) == {1: 0, 3: 0}
    cluster.close()


def test_each_producer_has_an_id(bootstrap: str, topic: str) -> None:
    with cluster_of(bootstrap, topic) as cluster:
        first, second = cluster.producer(), cluster.producer()
    assert first.producer_id != second.producer_id
    assert (first.epoch, second.epoch) == (0, 0)
