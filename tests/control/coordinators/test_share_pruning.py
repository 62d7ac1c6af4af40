"""The log of the states of share partitions is pruned, but never too early, and not for ever."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.control.coordinators import share_pruning
from broker_lite.control.coordinators.share_log import ShareLog
from broker_lite.control.replication.replica_manager import ReplicaManager
from broker_lite.control.topics.internal_topics import SHARE_TOPIC
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.coordinator.effects import NO_START, ShareStart
from broker_lite.coordinator.share_records.state import StateBatch, StateUpdate
from broker_lite.coordinator.share_records.states import ShareKey
from broker_lite.log.log import Log
from broker_lite.log.replicas import Lag
from tests.control.group_node import Node
from tests.control.trio import Trio

TOPIC = b"t" * 16
STATES = 30
PREFIX = "share_coordinator_state_topic_"


@pytest.fixture(autouse=True)
def few_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few records already be many."""
    monkeypatch.setattr(share_pruning, "_PRUNED_RECORDS", 10)
    monkeypatch.setattr(share_pruning, "_AT_A_TIME", 4)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path / "data", **{PREFIX + "num_partitions": "1"})
    make_topic(node)
    yield node
    node.cluster.close(sync=False)


@pytest.fixture
def trio(tmp_path: Path) -> Iterator[Trio]:
    texts = {"replication_factor": "3", "min_isr": "1", "num_partitions": "1"}
    trio = Trio(tmp_path / "data", **{PREFIX + name: text for name, text in texts.items()})
    make_topic(trio)
    yield trio
    trio.cluster.close(sync=False)


def make_topic(node: Node) -> None:
    node.cluster.create_topics([node.cluster.plan_topic(NewTopic("s", 1))], [TOPIC])


def log_of(node: Node) -> ShareLog:
    return node.groups.shares.log


def key_of(index: int) -> ShareKey:
    return ShareKey("g", TOPIC, index)


def kept(node: Node) -> Log:
    return node.cluster.log(SHARE_TOPIC, 0)


def begin(node: Node, count: int) -> None:
    log_of(node).start([ShareStart(*key_of(index), NO_START, 1) for index in range(count)])


def change(node: Node, index: int = 0) -> None:
    log_of(node).update(key_of(index), StateUpdate(0, 1, [StateBatch(1, 1, 2, 1)]), 0)


def run_background(node: Node) -> None:
    slices = 0
    while log_of(node).background.next_deadline_ms() is not None:
        log_of(node).background.on_time()
        slices += 1
        assert slices < 1000


def test_k23_pruning_ends_although_there_are_more_states_than_records_between(node: Node) -> None:
    begin(node, STATES)
    run_background(node)
    log = kept(node)
    assert (log.log_start_offset, log.log_end_offset) == (STATES, 2 * STATES)
    for _ in range(9):
        change(node)
    run_background(node)
    assert (log.log_start_offset, log.log_end_offset) == (STATES, 2 * STATES + 9)
    change(node)
    run_background(node)
    assert log.log_start_offset == 2 * STATES + 10


def test_k23_one_job_at_a_time(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker_lite.control.coordinators.background.SLICE_S", 0.0)
    begin(node, STATES)
    log_of(node).background.on_time()
    for _ in range(20):
        change(node)
    run_background(node)
    # one snapshot of each state
    assert kept(node).log_end_offset == 2 * STATES + 20
    assert kept(node).log_start_offset == STATES


def test_k23_the_records_are_counted_from_the_start_of_the_log(node: Node) -> None:
    begin(node, 1)
    for _ in range(6):
        change(node)
    node.restart()
    assert kept(node).log_start_offset == 0
    for _ in range(3):
        change(node)
    run_background(node)
    assert kept(node).log_start_offset == 10


def test_k23_nothing_is_deleted_before_the_snapshots_are_replicated(trio: Trio) -> None:
    manager = ReplicaManager(trio.cluster, trio.clock)
    begin(trio, 5)
    topic = trio.cluster.topics[SHARE_TOPIC]
    one = topic.partitions[0]
    for _ in range(4):
        change(trio)
    log = kept(trio)
    follower = next(each for each in one.replicas if each != one.leader)
    change(trio)  # the tenth record: the job begins
    manager.fall_behind(topic, 0, follower, Lag(is_frozen=True))
    run_background(trio)
    assert (log.high_watermark, log.log_end_offset) == (10, 15)
    assert log.log_start_offset == 0
    change(trio)
    assert log.log_start_offset == 0
    manager.catch_up(topic, 0, follower)
    change(trio)
    assert log.log_start_offset == 10
    begun = {*log_of(trio).states}
    trio.restart()
    assert {*log_of(trio).states} == begun


def test_k23_what_waits_for_replicas_is_dropped_when_the_log_is_read_again(trio: Trio) -> None:
    manager = ReplicaManager(trio.cluster, trio.clock)
    begin(trio, 10)
    topic = trio.cluster.topics[SHARE_TOPIC]
    one = topic.partitions[0]
    follower = next(each for each in one.replicas if each != one.leader)
    manager.fall_behind(topic, 0, follower, Lag(is_frozen=True))
    run_background(trio)
    log_of(trio).reload(0)
    manager.catch_up(topic, 0, follower)
    log = kept(trio)
    assert log.high_watermark == log.log_end_offset == 20
    change(trio)
    assert log.log_start_offset == 0
    run_background(trio)
    assert log.log_start_offset == 21
    log_of(trio).forget_all()
    assert [*log_of(trio).states] == []
