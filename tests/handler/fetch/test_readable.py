"""What followers know of leader epochs; the outcomes are those of Kafka 4.3.1."""

import pytest

from broker_lite.errors import OffsetOutOfRange
from broker_lite.handler.fetch.partition import FetchPartition, FetchPartitions
from broker_lite.handler.fetch.readable import diverging_epoch
from broker_lite.log.log import Log
from broker_lite.log.replicas import Lag, Replicas
from broker_lite.wire.fetch_request import WantedPartition
from tests.log.batches import batch, record
from tests.support.handler_broker import OpenBroker
from tests.support.several_brokers import place_topic

LEADER, FOLLOWER = 1, 2


@pytest.fixture
def log(open_broker: OpenBroker) -> Log:
    """One record of epoch 0; broker 1 leads in epoch 2, of which there is no record."""
    cluster = open_broker(broker_lite_brokers="3").cluster
    place_topic(cluster, "t", [LEADER, FOLLOWER])
    cluster.log("t", 0).append_batch(batch(record()), now_ms=1)
    for _ in range(2):
        topic = cluster.topics["t"]
        before = topic.partitions[0]
        after = before._replace(leader_epoch=before.leader_epoch + 1)
        cluster.controller.alter(topic, 0, after)
    return cluster.log("t", 0)


def diverging(log: Log, node_id: int, epoch: int, offset: int) -> tuple[int, int] | None:
    wanted = WantedPartition(0, offset, 0, last_fetched_epoch=epoch)
    return diverging_epoch(log, FetchPartition(FetchPartitions(), "t", 0, wanted), node_id)


def test_f21_the_leader_knows_its_own_epoch(log: Log) -> None:
    assert diverging(log, LEADER, 2, 1) is None
    assert diverging(log, LEADER, 2, 5) == (2, 1)
    assert diverging(log, LEADER, 0, 5) == (0, 1)


@pytest.mark.parametrize("epoch", [1, 2])
def test_f21_a_follower_learns_an_epoch_with_its_first_record(log: Log, epoch: int) -> None:
    assert diverging(log, FOLLOWER, 0, 1) is None
    assert diverging(log, FOLLOWER, 0, 5) == (0, 1)
    with pytest.raises(OffsetOutOfRange):
        diverging(log, FOLLOWER, epoch, 1)


def test_f21_c54_a_follower_that_is_behind_knows_less(log: Log) -> None:
    replicas = Replicas([FOLLOWER], log.log_end_offset, lambda: 0, lambda: None)
    replicas.fall_behind(FOLLOWER, Lag(is_frozen=True))
    log.visibility.replicas = replicas
    log.append_batch(batch(record()), now_ms=1)
    with pytest.raises(OffsetOutOfRange):
        diverging(log, FOLLOWER, 2, 2)
    assert diverging(log, FOLLOWER, 0, 2) == (0, 1)


def test_f21_a_follower_knows_the_epoch_of_the_last_record(log: Log) -> None:
    log.append_batch(batch(record()), now_ms=1)
    assert diverging(log, FOLLOWER, 2, 2) is None
