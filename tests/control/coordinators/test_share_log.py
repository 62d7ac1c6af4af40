"""The log of the states of share partitions: what takes long is done in the background."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.coordinators import share_log, share_pruning
from broker_lite.control.coordinators.share_log import ShareLog
from broker_lite.control.coordinators.state_topic import StateTopic
from broker_lite.control.topics.internal_topics import SHARE_TOPIC
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.coordinator.effects import NO_START, ShareStart
from broker_lite.coordinator.share_records.state import StateBatch, StateUpdate
from broker_lite.coordinator.share_records.states import ShareKey
from broker_lite.errors import CoordinatorNotAvailable, KafkaStorageError
from tests.control.group_node import Node
from tests.control.trio import Trio, take_leader
from tests.support.small_disk import files_end_at

TOPIC = b"t" * 16
COUNT = 30
AT_ONCE = 8


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few states and records already be many."""
    monkeypatch.setattr(share_log, "_BEGUN_AT_ONCE", AT_ONCE)
    monkeypatch.setattr(share_log, "_READ_AT_ONCE", AT_ONCE)
    monkeypatch.setattr(share_log, "_AT_A_TIME", 4)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path / "data", share_coordinator_state_topic_num_partitions="1")
    make_topic(node.cluster)
    yield node
    node.cluster.close(sync=False)


def make_topic(cluster: Cluster) -> None:
    cluster.create_topics([cluster.plan_topic(NewTopic("s", 1))], [TOPIC])


def log_of(node: Node) -> ShareLog:
    return node.groups.shares.log


def begin(node: Node, start_offset: int | None = NO_START, count: int = COUNT) -> None:
    starts = [ShareStart("g", TOPIC, index, start_offset, 1) for index in range(count)]
    node.groups.shares.put_starts(starts)


def key_of(index: int) -> ShareKey:
    return ShareKey("g", TOPIC, index)


def run_background(node: Node) -> None:
    shares = node.groups.shares
    assert node.groups.next_deadline_ms() == 0
    while log_of(node).background.next_deadline_ms() is not None:
        shares.on_time()


def test_k03_very_many_states_begin_in_the_background(node: Node) -> None:
    begin(node)
    shares, log = node.groups.shares, log_of(node)
    assert len(log.states) == AT_ONCE
    assert shares.is_known(key_of(COUNT - 1))
    assert len(log.states) == AT_ONCE + 1
    run_background(node)
    assert len(log.states) == COUNT
    assert node.cluster.log(SHARE_TOPIC, 0).log_end_offset == COUNT
    node.restart()
    assert len(log_of(node).states) == COUNT


def test_k04_very_many_states_end_in_the_background(node: Node) -> None:
    begin(node)
    run_background(node)
    begin(node, None)
    assert len(log_of(node).states) == COUNT - AT_ONCE
    assert not node.groups.shares.is_known(key_of(COUNT - 1))
    begin(node, NO_START, AT_ONCE + 1)  # what still has to end begins again instead
    run_background(node)
    assert {key.partition for key in log_of(node).states} == {*range(AT_ONCE + 1)}


def test_k40_a_start_that_was_set_is_written_at_once(node: Node) -> None:
    begin(node, 7)
    assert len(log_of(node).states) == COUNT
    assert log_of(node).background.next_deadline_ms() is None


def test_what_cannot_be_written_waits_on(node: Node, caplog: pytest.LogCaptureFixture) -> None:
    begin(node)
    with files_end_at(0):
        run_background(node)
        assert caplog.text.count("share states do not begin yet") == 1
        with pytest.raises(KafkaStorageError):
            node.groups.shares.is_known(key_of(COUNT - 1))
    run_background_if_any(node)
    assert node.groups.shares.is_known(key_of(COUNT - 1))
    begin(node, NO_START, AT_ONCE)  # the rest goes on with what begins next
    run_background(node)
    assert len(log_of(node).states) == COUNT


def run_background_if_any(node: Node) -> None:
    if log_of(node).background.next_deadline_ms() is not None:
        run_background(node)


def test_k04_no_state_of_a_deleted_topic_begins(node: Node) -> None:
    begin(node)
    log_of(node).end_topics([TOPIC], log_of(node).start)
    run_background(node)
    assert len(log_of(node).states) == 0
    begin(node)
    log_of(node).forget_all()
    run_background(node)
    assert len(log_of(node).states) == 0


def test_k04_very_many_states_of_a_deleted_topic_end_in_slices(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share_log, "_LOOKED_AT", 3)
    begin(node)
    run_background(node)
    other = [ShareStart("g", b"u" * 16, index, 5, 1) for index in range(7)]
    node.groups.shares.put_starts(other)
    node.groups.shares.open(key_of(COUNT - 1), 0)
    node.cluster.delete_topics([node.cluster.topics["s"]])
    states = log_of(node).states
    assert COUNT > len(states) - len(other) >= COUNT - AT_ONCE
    assert node.groups.shares.partition(key_of(COUNT - 1)) is None
    run_background(node)
    assert {key.topic_id for key in states} == {b"u" * 16}
    node.restart()
    run_background_if_any(node)
    assert len(log_of(node).states) == 0  # neither topic exists


def written(node: Node) -> dict[ShareKey, list[StateBatch]]:
    """Write what became of records of some partitions; return what is kept."""
    begin(node, 0, 10)
    log = log_of(node)
    for index in range(10):
        log.update(key_of(index), StateUpdate(0, 1, [StateBatch(1, 1 + index, 2, 1)]), 0)
    return kept(log)


def kept(log: ShareLog) -> dict[ShareKey, list[StateBatch]]:
    found = {key: log.states.get(key) for key in log.states}
    return {key: state.batches for key, state in found.items() if state is not None}


def test_k20_a_long_log_is_read_again_in_the_background(node: Node) -> None:
    before, log = written(node), log_of(node)
    log.reload(0)
    with pytest.raises(CoordinatorNotAvailable):
        node.groups.shares.is_known(key_of(0))
    run_background(node)
    assert kept(log) == before
    assert node.groups.shares.is_known(key_of(0))


def test_a_job_gives_way_to_the_next(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    before, log = written(node), log_of(node)
    monkeypatch.setattr("broker_lite.control.coordinators.background.SLICE_S", 0.0)
    log.reload(0)
    node.groups.shares.on_time()
    assert kept(log) != before
    monkeypatch.setattr(share_log, "_READ_AT_ONCE", 1000)
    log.reload(0)  # at once
    assert kept(log) == before
    run_background(node)
    assert kept(log) == before


def test_k23_a_log_that_is_read_again_is_not_pruned(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share_pruning, "_PRUNED_RECORDS", 12)
    before, log = written(node), log_of(node)
    monkeypatch.setattr("broker_lite.control.coordinators.background.SLICE_S", 0.0)
    node.groups.shares.on_time()
    log.reload(0)
    run_background(node)
    assert node.cluster.log(SHARE_TOPIC, 0).log_start_offset == 0
    assert kept(log) == before
    for index in range(10):
        log.update(key_of(index), StateUpdate(0, 1, [StateBatch(1, 1, 2, 1)]), 0)
    log.update(key_of(0), StateUpdate(0, 1, [StateBatch(1, 1, 2, 1)]), 0)
    log.update(key_of(0), StateUpdate(0, 1, [StateBatch(1, 1, 2, 1)]), 0)
    log.update(key_of(0), StateUpdate(0, 1, [StateBatch(1, 1, 2, 1)]), 0)
    run_background(node)
    assert node.cluster.log(SHARE_TOPIC, 0).log_start_offset > 20
    after = kept(log)
    node.restart()
    assert kept(log_of(node)) == after


def test_k04_states_of_deleted_topics_that_were_not_ended_end_when_they_are_read(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(node)
    with monkeypatch.context() as patch:
        patch.setattr(ShareLog, "start", lambda _log, _starts: None)  # as if the broker were killed
        node.cluster.delete_topics([node.cluster.topics["s"]])
    assert len(log_of(node).states) == 10
    node.restart()
    run_background(node)
    assert len(log_of(node).states) == 0
    node.restart()
    assert len(log_of(node).states) == 0


# -- partitions of the log without a leader


@pytest.fixture
def trio(tmp_path: Path) -> Iterator[Trio]:
    texts = {"replication_factor": "3", "min_isr": "1", "num_partitions": "2"}
    prefix = "share_coordinator_state_topic_"
    trio = Trio(tmp_path / "data", **{prefix + name: text for name, text in texts.items()})
    make_topic(trio.cluster)
    yield trio
    trio.cluster.close(sync=False)


def set_leader(node: Node, place: int, leader: int) -> None:
    topic = node.cluster.topics[SHARE_TOPIC]
    before = topic.partitions[place]
    after = before._replace(leader=leader, leader_epoch=before.leader_epoch + 1)
    node.cluster.controller.alter(topic, place, after)


def places(log: ShareLog, keys: Collection[ShareKey]) -> set[int]:
    return {log.place_of(key) for key in keys}


def test_k03_states_begin_as_soon_as_their_partition_has_a_leader(trio: Trio) -> None:
    log = log_of(trio)
    log.topic.ensure()
    leader = log.topic.leader(0)
    set_leader(trio, 0, -1)
    begin(trio, count=AT_ONCE)
    assert places(log, [*log.states]) == {1}
    with pytest.raises(CoordinatorNotAvailable):
        begin(trio, 7, AT_ONCE)
    state = log.states.get(next(iter(log.states)))
    assert state is not None
    assert state.start_offset == NO_START
    run_background(trio)
    set_leader(trio, 0, leader)
    run_background(trio)
    assert places(log, [*log.states]) == {0, 1}
    assert len(log.states) == AT_ONCE


def test_k04_states_end_when_their_partition_has_a_leader_again(trio: Trio) -> None:
    log = log_of(trio)
    begin(trio, count=AT_ONCE)
    leader = log.topic.leader(0)
    take_leader(trio.cluster, SHARE_TOPIC, 0)
    trio.cluster.delete_topics([trio.cluster.topics["s"]])
    run_background(trio)
    register = trio.cluster.register
    for node_id in trio.cluster.node_ids:
        register(node_id, [])
    if log.topic.leader(0) == -1:
        set_leader(trio, 0, leader)
    run_background_if_any(trio)
    assert len(log.states) == 0
    trio.restart()
    assert len(log_of(trio).states) == 0


def test_k03_what_has_begun_does_not_begin_anew_when_others_cannot_be_written(
    trio: Trio, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = log_of(trio)
    begin(trio)
    append = type(log.topic).append

    first: set[int] = set()

    def fail_there(topic: StateTopic, place: int, *more: Any, **named: Any) -> None:
        if place not in first and first:
            raise KafkaStorageError
        first.add(place)
        append(topic, place, *more, **named)

    with monkeypatch.context() as patch:
        patch.setattr(StateTopic, "append", fail_there)
        run_background(trio)
    assert AT_ONCE < len(log.states) < COUNT
    begin(trio, NO_START, 0)
    run_background(trio)
    assert len(log.states) == COUNT
    ends = [trio.cluster.log(SHARE_TOPIC, place).log_end_offset for place in (0, 1)]
    assert sum(ends) == COUNT


def test_reading_a_partition_again_looks_at_its_own_states_only(
    trio: Trio, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(trio, 7)
    log = log_of(trio)
    here = [key for key in log.states if log.place_of(key) == 0]
    asked: list[ShareKey] = []

    def place_of(key: ShareKey) -> int:
        asked.append(key)
        return 0

    monkeypatch.setattr(log, "place_of", place_of)
    monkeypatch.setattr(log.states, "_place_of", place_of)
    log.reload(0)
    while log.background.next_deadline_ms() is not None:
        log.background.on_time()
    assert {*asked} == {*here}
