"""Markers in the logs of partitions: T-52 to T-58.

Also tests: broker_lite.control.coordinators.elsewhere.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from broker_lite.control.coordinators.elsewhere import Sent
from broker_lite.control.coordinators.end_markers import (
    MARKERS_AT_A_TIME,
    STEP_MS,
    EndMarkers,
    UnfinishedEnding,
)
from broker_lite.control.metadata.topic import NO_LEADER
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.coordinator.transactions.coordinator import Ending
from broker_lite.coordinator.transactions.transaction import TopicPartition
from broker_lite.errors import ErrorCode
from broker_lite.record.control import EndTransactionMarker
from tests.control.transactor import TransactionBroker
from tests.support.disk import Disk


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[TransactionBroker]:
    broker = TransactionBroker(tmp_path / "data")
    yield broker
    broker.cluster.close(sync=False)


def unfinished(*partitions: tuple[str, int], epoch: int = 1) -> UnfinishedEnding:
    return UnfinishedEnding(Ending("x", (0, epoch), True, frozenset(partitions), 2))


def markers(broker: TransactionBroker) -> EndMarkers:
    return EndMarkers(broker.cluster, broker.clock, broker.groups, lambda _: None)


def test_t52_markers_are_written_some_at_a_time(broker: TransactionBroker) -> None:
    many = unfinished(*[("gone", number) for number in range(MARKERS_AT_A_TIME)], ("t", 1))
    assert not markers(broker).write_some(many, 0)
    assert many.left == [("t", 1)]
    assert markers(broker).write_some(many, 0)
    assert broker.cluster.log("t", 1).log_end_offset == 1
    assert not many.failed


def test_t52_slow_markers_are_fewer_at_a_time(broker: TransactionBroker, disk: Disk) -> None:
    def take_long(path: str) -> None:
        if path.endswith(".log"):
            broker.clock.step(STEP_MS // 2)

    disk.before("pwrite", take_long)
    many = unfinished()
    many.left = [("t", 0)] * 3
    assert not markers(broker).write_some(many, 0)
    assert len(many.left) == 1


def test_t54_a_partition_with_a_higher_epoch_is_done_with(
    broker: TransactionBroker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.produce((0, 5))
    old = unfinished(("t", 0))
    assert markers(broker).write_some(old, 0)
    assert (old.left, old.failed) == ([], [])
    assert "InvalidProducerEpoch" in caplog.text
    assert broker.open_transactions() == [True, False]


def test_what_fails_waits(broker: TransactionBroker, disk: Disk) -> None:
    both = unfinished(("t", 0), ("t", 1))
    disk.refuse("pwrite", below="t-")
    assert markers(broker).write_some(both, 0)
    assert sorted(both.failed) == [("t", 0), ("t", 1)]
    both.wait(7)
    assert (sorted(both.left), both.failed, both.not_before_ms) == (
        [("t", 0), ("t", 1)],
        [],
        1007,
    )


class Elsewhere:
    """The leader of all partitions of `far` in another process, which has not answered yet."""

    def __init__(self, broker: TransactionBroker) -> None:
        self.asked: list[tuple[int, EndTransactionMarker, list[TopicPartition]]] = []
        self.answer: list[Sent] = []
        self.flushed: list[UnfinishedEnding] = []
        cluster = broker.cluster
        cluster.create_topics([cluster.plan_topic(NewTopic("far", 3))])
        topic = cluster.topics["far"]
        for index, one in enumerate(topic.partitions):
            moved = one._replace(leader=9, leader_epoch=1, replicas=(9,), isr=(9,))
            cluster.controller.alter(cluster.topics["far"], index, moved)
        self.markers = EndMarkers(cluster, broker.clock, broker.groups, self.flushed.append)
        self.markers.send = self.send

    def send(
        self,
        node_id: int,
        _ending: Ending,
        marker: EndTransactionMarker,
        partitions: Sequence[TopicPartition],
        sent: Sent,
    ) -> None:
        self.asked.append((node_id, marker, sorted(partitions)))
        self.answer.append(sent)


def test_c67_markers_of_a_leader_in_another_process_are_sent_there(
    broker: TransactionBroker,
) -> None:
    elsewhere = Elsewhere(broker)
    ending = unfinished(("far", 0), ("far", 2), ("t", 1))
    assert elsewhere.markers.write_some(ending, 5)
    marker = EndTransactionMarker(True, 5)
    assert elsewhere.asked == [(9, marker, [("far", 0), ("far", 2)])]
    assert broker.cluster.log("t", 1).log_end_offset == 1
    assert (ending.flushes, ending.failed, elsewhere.flushed) == (1, [], [])
    elsewhere.answer[0]({("far", 0): 0, ("far", 2): 0})
    assert (ending.flushes, ending.failed, elsewhere.flushed) == (0, [], [ending])


@pytest.mark.parametrize(
    ("code", "is_tried_again"),
    [
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, True),
        (ErrorCode.KAFKA_STORAGE_ERROR, True),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, False),
        (ErrorCode.INVALID_PRODUCER_EPOCH, False),
        (ErrorCode.TRANSACTION_COORDINATOR_FENCED, False),
    ],
)
def test_c69_what_another_process_has_not_written_is_tried_again(
    broker: TransactionBroker, code: ErrorCode, is_tried_again: bool
) -> None:
    elsewhere = Elsewhere(broker)
    ending = unfinished(("far", 0), ("far", 1))
    elsewhere.markers.write_some(ending, 5)
    elsewhere.answer[0]({("far", 0): 0, ("far", 1): code})
    assert ending.failed == ([("far", 1)] if is_tried_again else [])


def test_c69_without_a_leader_nothing_is_sent(broker: TransactionBroker) -> None:
    elsewhere = Elsewhere(broker)
    topic = broker.cluster.topics["far"]
    gone = topic.partitions[0]._replace(leader=NO_LEADER, leader_epoch=2)
    broker.cluster.controller.alter(topic, 0, gone)
    ending = unfinished(("far", 0), ("unknown", 0))
    assert elsewhere.markers.write_some(ending, 5)
    assert (elsewhere.asked, ending.failed) == ([], [("far", 0)])
