"""The log of the states of share partitions: what takes long is done in the background."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.control.coordinators import share_log
from broker_lite.control.coordinators.share_log import ShareLog
from broker_lite.control.topics.internal_topics import SHARE_TOPIC
from broker_lite.coordinator.effects import NO_START, ShareStart
from broker_lite.coordinator.share_records.state import StateBatch, StateUpdate
from broker_lite.coordinator.share_records.states import ShareKey
from broker_lite.errors import CoordinatorNotAvailable, KafkaStorageError
from tests.control.group_node import Node
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
    yield node
    node.cluster.close(sync=False)


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
        assert "share states do not begin yet" in caplog.text
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
    log_of(node).cancel([TOPIC])
    run_background(node)
    assert len(log_of(node).states) == AT_ONCE
    begin(node)
    log_of(node).forget_all()
    run_background(node)
    assert len(log_of(node).states) == 0


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
    monkeypatch.setattr(share_log, "_PRUNED_RECORDS", 12)
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
