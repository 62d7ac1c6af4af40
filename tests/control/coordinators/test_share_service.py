"""Share partitions over changes of the cluster and failures of their log."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from broker_lite.control.coordinators import share_pruning, share_releases, share_service
from broker_lite.control.coordinators.kept_states import StateWrite
from broker_lite.control.topics.internal_topics import SHARE_TOPIC
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.coordinator.effects import NO_START, ShareStart
from broker_lite.coordinator.share_records.acquire import Range, Wish, acquire
from broker_lite.coordinator.share_records.partition import SharePartition
from broker_lite.coordinator.share_records.sessions import SharedPartition
from broker_lite.coordinator.share_records.state import StateBatch, StateUpdate
from broker_lite.coordinator.share_records.states import KeptState, ShareKey
from broker_lite.errors import BrokerError, CoordinatorNotAvailable, KafkaStorageError
from tests.control.group_node import Node
from tests.control.trio import Trio, take_leader
from tests.support.small_disk import files_end_at


@pytest.fixture
def node(tmp_path: Path) -> Any:
    node = Node(tmp_path / "data", share_coordinator_state_topic_num_partitions="1")
    yield node
    node.cluster.close(sync=False)


class Keeper:
    """A process that keeps states, and gets no changes."""

    def __init__(self, states: Mapping[ShareKey, KeptState]) -> None:
        self._states = states

    async def read(
        self, group_id: str, keys: Sequence[ShareKey]
    ) -> Mapping[ShareKey, KeptState | BrokerError]:
        assert {key.group_id for key in keys} == {group_id}
        return {key: self._states[key] for key in keys}

    async def write(
        self, _group_id: str, writes: Sequence[StateWrite]
    ) -> Sequence[BrokerError | None]:
        raise AssertionError(writes)


def key_of(node: Node) -> ShareKey:
    cluster = node.cluster
    if "s" not in cluster.topics:
        cluster.create_topics([cluster.plan_topic(NewTopic("s", 1))])
    return ShareKey("g", cluster.topics["s"].topic_id, 0)


def begun(node: Node) -> tuple[ShareKey, SharePartition]:
    key = key_of(node)
    shares = node.groups.shares
    shares.put_starts([ShareStart(*key, 0, 1)])
    return key, shares.open(key, 0)


def take(node: Node, partition: SharePartition, first: int, last: int) -> None:
    deadline_ms = node.clock.steady_ms() + partition.settings.lock_duration_ms
    wish = Wish("m", last - first + 1, 500, False)
    assert acquire(partition, wish, [Range(first, last)], deadline_ms) == [(first, last, 1)]


def accept(node: Node, key: ShareKey, first: int, last: int) -> None:
    update = StateUpdate(0, last - first + 1, [StateBatch(first, last, 2, 1)])
    node.groups.shares.settle(key, update, 0)


def test_k15_locks_end_with_the_alarm(node: Node) -> None:
    key, partition = begun(node)
    woken: list[str] = []
    node.groups.shares.listeners.add([key], lambda: woken.append("woken"))
    take(node, partition, 0, 9)
    node.groups.shares.settle(key, None, 0)
    assert node.groups.shares.next_deadline_ms() == node.clock.steady_ms() + 30_000
    assert node.groups.next_deadline_ms() <= node.clock.steady_ms() + 30_000
    node.clock.step(30_000)
    node.groups.on_time()
    assert woken == ["woken"]
    state = node.groups.shares.log.states.get(key)
    assert state is not None
    assert state.batches == [(0, 9, 0, 1)]
    assert node.groups.shares.next_deadline_ms() is None


@pytest.mark.as_written
def test_k15_very_many_locks_end_in_slices(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_service, "SLICE_S", 0.0)
    key, _ = begun(node)
    shares = node.groups.shares
    keys = [key._replace(partition=each) for each in range(3)]
    shares.put_starts([ShareStart(*each, 0, 1) for each in keys])
    for each in keys:
        take(node, shares.open(each, 0), 0, 9)
        shares.settle(each, None, 0)
    node.clock.step(30_000)
    now_ms = node.clock.steady_ms()
    assert shares.run_due(keys[2]) == now_ms
    assert ended(node, keys) == [False, False, True]
    shares.on_time()
    assert ended(node, keys) == [True, False, True]
    assert shares.next_deadline_ms() == now_ms
    shares.on_time()
    assert ended(node, keys) == [True, True, True]
    assert shares.next_deadline_ms() is None


def ended(node: Node, keys: Sequence[ShareKey]) -> list[bool]:
    """Return of which share partitions the locks have ended."""
    states = [node.groups.shares.log.states.get(key) for key in keys]
    return [state is not None and state.batches == [(0, 9, 0, 1)] for state in states]


def test_k16_k26_who_uses_a_share_partition_finds_no_lock_of_a_session_that_has_ended(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share_releases, "_AT_ONCE", 0)
    key, partition = begun(node)
    shares = node.groups.shares
    take(node, partition, 0, 9)
    session = {SharedPartition(*key[1:])}
    shares.release("h", "m", session)
    shares.release("g", "m", session)
    assert ended(node, [key]) == [False]
    shares.run_due(key)
    assert ended(node, [key]) == [True]
    assert shares.partition(key) is partition
    shares.forget_groups({"g"}, node.cluster.node_id)
    assert shares.partition(key) is partition
    assert shares.is_known(key)
    assert shares.partition(key) is None


def test_g115_k20_states_are_read_back(node: Node) -> None:
    key, _ = begun(node)
    accept(node, key, 0, 4)
    node.restart()
    shares = node.groups.shares
    assert shares.is_known(key)
    assert not shares.needs_start(key)
    assert shares.log.start_and_complete(key) == (0, 5, 0)
    assert shares.open(key, 0).start_offset == 5
    assert shares.open(key, 0) is shares.partition(key)


def test_a_log_that_cannot_be_written_loses_locks_only(node: Node) -> None:
    key, partition = begun(node)
    accept(node, key, 0, 4)
    take(node, partition, 0, 9)
    with files_end_at(0), pytest.raises(KafkaStorageError):
        accept(node, key, 5, 9)
    shares = node.groups.shares
    assert shares.partition(key) is None
    assert shares.open(key, 0).start_offset == 5
    accept(node, key, 5, 9)
    assert shares.log.start_and_complete(key) == (0, 5, 0)


def test_k36_what_is_kept_and_in_flight_is_counted(node: Node) -> None:
    key, partition = begun(node)
    shares = node.groups.shares
    take(node, partition, 0, 9)
    assert (shares.held.run_count, shares.held.kept_count) == (1, 0)
    update = StateUpdate(0, 0, [StateBatch(3, 4, 0, 1), StateBatch(8, 9, 2, 1)])
    shares.settle(key, update, 0)
    assert (shares.held.run_count, shares.held.kept_count) == (1, 2)
    shares.put_starts([ShareStart(*key, 0, 2)])
    assert (shares.held.run_count, shares.held.kept_count) == (0, 0)
    shares.settle(key, update, 0)
    node.restart()
    shares = node.groups.shares
    assert (shares.held.run_count, shares.held.kept_count) == (0, 2)
    shares.held.add_kept(1 << 30)
    with pytest.raises(CoordinatorNotAvailable, match="as much memory as they may"):
        shares.open(key, 0)
    shares.held.add_kept(-(1 << 30))
    assert shares.open(key, 0).in_flight.run_count == shares.held.run_count == 4
    shares.forget_groups({"g"}, node.cluster.node_id)
    assert shares.held.run_count == 0
    shares.put_starts([ShareStart(*key, None, 0)])
    assert shares.held.size_bytes == 0


def test_k20_a_begun_start_outlives_a_failed_write(node: Node) -> None:
    key = key_of(node)
    shares = node.groups.shares
    shares.put_starts([ShareStart(*key, NO_START, 1)])
    assert shares.needs_start(key)
    take(node, shares.open(key, 7), 7, 9)
    update = StateUpdate(7, 3, [StateBatch(7, 9, 2, 1)])
    with files_end_at(0), pytest.raises(KafkaStorageError):
        shares.settle(key, update, 0)
    assert not shares.needs_start(key)
    assert shares.open(key, 0).start_offset == 7
    shares.settle(key, update, 0)
    assert shares.log.start_and_complete(key) == (7, 3, 0)
    shares.put_starts([ShareStart(*key, NO_START, 2)])
    assert shares.needs_start(key)


def test_k20_a_state_that_begins_anew_has_no_start(node: Node) -> None:
    key = key_of(node)
    shares = node.groups.shares
    shares.put_starts([ShareStart(*key, NO_START, 1)])
    assert shares.open(key, 7).start_offset == 7
    shares.put_starts([ShareStart(*key, NO_START, 2)])
    assert shares.needs_start(key)
    assert shares.open(key, 8).start_offset == 8
    node.cluster.delete_topics([node.cluster.topics[SHARE_TOPIC]])
    assert shares.needs_start(key)


def test_what_is_in_flight_is_forgotten_even_if_not_all_states_are_written(node: Node) -> None:
    key, _ = begun(node)
    with files_end_at(0), pytest.raises(KafkaStorageError):
        node.groups.shares.put_starts([ShareStart(*key, 3, 2)])
    assert node.groups.shares.partition(key) is None
    assert node.groups.shares.open(key, 0).start_offset == 0


def test_k23_the_log_is_pruned(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_pruning, "_PRUNED_RECORDS", 10)
    key, _ = begun(node)
    for first in range(40):
        accept(node, key, first, first)
        node.groups.shares.on_time()
    log = node.cluster.log(SHARE_TOPIC, 0)
    assert log.log_end_offset - log.log_start_offset < 20
    assert log.log_start_offset > 20
    node.restart()
    assert node.groups.shares.open(key, 0).start_offset == 40


def test_k23_a_failure_to_prune_is_no_failure(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_pruning, "_PRUNED_RECORDS", 2)
    key, _ = begun(node)
    log = node.cluster.log(SHARE_TOPIC, 0)

    def fail(_offset: int) -> int:
        raise KafkaStorageError

    monkeypatch.setattr(type(log), "delete_records_before", lambda _log, offset: fail(offset))
    for first in range(6):
        accept(node, key, first, first)
        node.groups.shares.on_time()
    assert node.groups.shares.log.start_and_complete(key) is not None


def test_k04_states_end_with_their_topics(node: Node) -> None:
    key, _ = begun(node)
    node.cluster.delete_topics([node.cluster.topics["s"]])
    assert not node.groups.shares.is_known(key)
    key, _ = begun(node)
    node.cluster.delete_topics([node.cluster.topics[SHARE_TOPIC]])
    assert not node.groups.shares.is_known(key)
    assert node.groups.shares.partition(key) is None


def test_k04_what_another_process_kept_is_forgotten_with_its_topic(node: Node) -> None:
    key, shares = key_of(node), node.groups.shares
    shares.put_starts([ShareStart(*key, 0, 1)])
    keeper = Keeper({key: KeptState(5, 1, 0)})
    shares.keep_elsewhere(keeper)
    assert shares.elsewhere is not None
    assert asyncio.run(shares.elsewhere.load("g", [key])) == {}
    assert shares.is_known(key)
    node.cluster.delete_topics([node.cluster.topics[SHARE_TOPIC]])
    assert not shares.is_known(key)


def test_k04_states_that_cannot_end_now_end_later(node: Node) -> None:
    key, _ = begun(node)
    shares = node.groups.shares
    with files_end_at(0):
        shares.topics_changed([node.cluster.topics["s"]])
        shares.on_time()
    assert key in [*shares.log.states]
    shares.put_starts([])  # the rest goes on with what begins next
    shares.on_time()
    assert [*shares.log.states] == []


def test_k04_no_state_is_looked_at_when_no_topic_is_deleted(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(node)
    monkeypatch.setattr(node.groups.shares.log, "states", None)
    node.groups.shares.topics_changed([])


def test_k24_what_is_in_flight_is_lost_when_a_partition_moves(tmp_path: Path) -> None:
    texts = {
        "share_coordinator_state_topic_replication_factor": "3",
        "share_coordinator_state_topic_min_isr": "1",
        "share_coordinator_state_topic_num_partitions": "1",
    }
    trio = Trio(tmp_path / "data", **texts)
    key, partition = begun(trio)
    accept(trio, key, 0, 4)
    take(trio, partition, 0, 9)
    trio.cluster.controller.fence(trio.cluster.topics["s"].partitions[0].leader)
    shares = trio.groups.shares
    assert shares.partition(key) is None
    assert shares.open(key, 0).start_offset == 5
    take_leader(trio.cluster, SHARE_TOPIC, 0)
    assert shares.partition(key) is None
    with pytest.raises(CoordinatorNotAvailable):
        shares.is_known(key)
    trio.cluster.close(sync=False)


def test_k26_only_what_the_broker_leads_is_forgotten(node: Node) -> None:
    key, partition = begun(node)
    shares = node.groups.shares
    shares.forget_groups({"g", "h"}, node.cluster.node_id + 1)
    assert shares.partition(key) is partition
    shares.forget_groups({"h"}, node.cluster.node_id)
    assert shares.partition(key) is partition
    shares.forget_groups({"h", "g"}, node.cluster.node_id)
    assert shares.partition(key) is None
