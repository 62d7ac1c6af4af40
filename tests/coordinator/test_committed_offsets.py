"""The offsets of all groups against a model, with transactions and a replay of part of the log."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.coordinator.committed_offsets import OffsetStore
from broker_lite.coordinator.offset_records import NO_EXPIRY, CommittedOffset
from broker_lite.wire import ZERO_UUID

GROUPS = ("g", "h")
KEYS = [(topic, index) for topic in ("t", "u") for index in (0, 1)]


def offset(number: int) -> CommittedOffset:
    return CommittedOffset(number, -1, "", 1, NO_EXPIRY, ZERO_UUID)


def seen(store: OffsetStore) -> dict[str, dict[tuple[str, int], int]]:
    return {
        group_id: {
            (topic, index): committed.offset
            for topic in offsets.committed
            for index, committed in offsets.of_topic(topic)
        }
        for group_id in store.group_ids()
        if (offsets := store.of(group_id)) is not None and offsets.committed
    }


def unstable(store: OffsetStore) -> dict[str, set[tuple[str, int]]]:
    return {
        group_id: found
        for group_id in store.group_ids()
        if (offsets := store.of(group_id)) is not None and (found := offsets.unstable())
    }


@dataclass
class Model:
    """What a log means, told in another way: every event is kept, and nothing is moved."""

    committed: dict[tuple[str, Any], tuple[int, int]] = field(default_factory=dict)
    pending: list[tuple[int, int, str, Any, int]] = field(default_factory=list)
    clock: int = 0

    def apply(self, event: tuple[Any, ...]) -> None:
        self.clock += 1
        match event:
            case ("put", group_id, key, number):
                self.committed[group_id, key] = (self.clock, number)
            case ("pend", producer_id, group_id, key, number):
                self.pending.append((self.clock, producer_id, group_id, key, number))
            case ("remove", group_id, key):
                self.committed.pop((group_id, key), None)
                self.pending = [one for one in self.pending if one[2:4] != (group_id, key)]
            case ("end", producer_id, is_commit):
                for clock, owner, group_id, key, number in self.pending:
                    present = self.committed.get((group_id, key), (0, 0))
                    if owner == producer_id and is_commit and present[0] < clock:
                        self.committed[group_id, key] = (clock, number)
                self.pending = [one for one in self.pending if one[1] != producer_id]

    def seen(self) -> dict[str, dict[Any, int]]:
        found: dict[str, dict[Any, int]] = {}
        for (group_id, key), (_, number) in self.committed.items():
            found.setdefault(group_id, {})[key] = number
        return found

    def unstable(self) -> dict[str, set[Any]]:
        found: dict[str, set[Any]] = {}
        for _, _, group_id, key, _ in self.pending:
            found.setdefault(group_id, set()).add(key)
        return found


def apply(store: OffsetStore, event: tuple[Any, ...]) -> None:
    match event:
        case ("put", group_id, (topic, index), number):
            store.put(group_id, topic, index, offset(number))
        case ("pend", producer_id, group_id, key, number):
            store.put_pending(0, producer_id, group_id, key, offset(number))
        case ("remove", group_id, (topic, index)):
            store.remove(group_id, topic, index)
        case ("end", producer_id, is_commit):
            store.complete(0, producer_id, committed=is_commit)


GROUP = st.sampled_from(GROUPS)
KEY = st.sampled_from(KEYS)
PRODUCER = st.integers(1, 3)
NUMBER = st.integers(0, 9)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), GROUP, KEY, NUMBER),
        st.tuples(st.just("pend"), PRODUCER, GROUP, KEY, NUMBER),
        st.tuples(st.just("remove"), GROUP, KEY),
        st.tuples(st.just("end"), PRODUCER, st.booleans()),
    ),
    max_size=30,
)


@settings(max_examples=150)
@given(EVENTS)
def test_store_is_the_model_at_every_step_t43_t45_t53_g72(events: list[Any]) -> None:
    store, model = OffsetStore(), Model()
    for event in events:
        apply(store, event)
        model.apply(event)
        assert seen(store) == model.seen()
        assert unstable(store) == model.unstable()
        assert len(store) == len(model.seen().keys() | model.unstable().keys())


def test_the_last_commit_of_a_transaction_counts_t43() -> None:
    store = OffsetStore()
    for number in (1, 2):
        store.put_pending(0, 7, "g", ("t", 0), offset(number))
    store.complete(0, 7, committed=True)
    assert seen(store) == {"g": {("t", 0): 2}}


def test_a_later_plain_commit_outlives_the_transaction_g72() -> None:
    store = OffsetStore()
    store.put_pending(0, 7, "g", ("t", 0), offset(1))
    store.put("g", "t", 0, offset(2))
    store.complete(0, 7, committed=True)
    assert seen(store) == {"g": {("t", 0): 2}}


def test_markers_are_those_of_one_partition_of_the_state_topic_t53() -> None:
    store = OffsetStore()
    store.put_pending(0, 7, "g", ("t", 0), offset(1))
    store.put_pending(1, 7, "h", ("t", 0), offset(2))
    store.complete(1, 7, committed=True)
    assert seen(store) == {"h": {("t", 0): 2}}
    assert unstable(store) == {"g": {("t", 0)}}


def test_forgotten_groups_do_not_come_back_with_a_marker() -> None:
    store = OffsetStore()
    store.put("g", "t", 0, offset(1))
    store.put_pending(0, 7, "g", ("t", 0), offset(2))
    store.put_pending(1, 7, "h", ("t", 0), offset(3))
    store.forget([0], {"g", "x"})
    store.complete(0, 7, committed=True)
    assert store.of("g") is None
    assert unstable(store) == {"h": {("t", 0)}}


def test_all_partitions_of_a_group_each_once() -> None:
    store = OffsetStore()
    store.put("g", "t", 0, offset(1))
    store.put_pending(0, 7, "g", ("t", 0), offset(2))
    store.put_pending(0, 8, "g", ("u", 1), offset(3))
    offsets = store.of("g")
    assert offsets is not None
    assert offsets.partitions() == [("t", 0), ("u", 1)]
    assert [key for key in KEYS if key in offsets] == [("t", 0), ("u", 1)]
    assert offsets.get("u", 1) is None
