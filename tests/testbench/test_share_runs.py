"""Which records a share group has in flight, without a share partition made of what is kept."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_lite.coordinator.effects import NO_START
from broker_lite.coordinator.share_records.in_flight import Run
from broker_lite.coordinator.share_records.partition import SharePartition
from broker_lite.coordinator.share_records.settings import ShareSettings
from broker_lite.coordinator.share_records.state import RecordState, StateBatch, joined
from broker_lite.coordinator.share_records.states import KeptState, ShareKey
from broker_lite.testbench.share_runs import (
    Known,
    copy_of,
    known_of,
    progress_of,
    runs_of,
    stateful_partitions,
)
from tests.testbench.shared_groups import TOPIC_ID, FakeLife, share_group

STATES = [RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED]
BATCHES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 4), st.sampled_from(STATES), st.integers(1, 3)),
    max_size=12,
)


def kept_state(start: int, batches: list[StateBatch]) -> KeptState:
    state = KeptState(start, 0, 0)
    state.batches = batches
    return state


def all_of(known: Known) -> list[tuple[int, int, RecordState, int]]:
    start = progress_of(known).start_offset
    return [
        (max(each.first, start), each.last, each.state, each.delivery_count)
        for each in runs_of(known, start)
    ]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(start=st.integers(0, 5), told=BATCHES)
def test_what_is_kept_is_told_as_a_share_partition_made_of_it_has_it(
    start: int, told: list[tuple[int, int, RecordState, int]]
) -> None:
    batches, offset = [], start
    for gap, size, state, count in told:
        first = offset + gap
        offset = first + size
        batches.append(StateBatch(first, offset - 1, int(state), count))
    kept = kept_state(start, joined(batches, start))
    made = SharePartition(start, kept.batches, ShareSettings())
    assert progress_of(kept) == progress_of(made)
    assert all_of(kept) == all_of(made)


def test_neighbours_of_one_fate_are_one_run_and_a_copy_stays() -> None:
    batches = [StateBatch(2, 3, int(RecordState.ACKNOWLEDGED), 1)]
    partition = SharePartition(0, batches, ShareSettings())
    (first, _) = [copy_of(each) for each in runs_of(partition, 0)]
    for run in partition.in_flight.cut_batch(partition.in_flight.batches[0], 1, 1):
        assert run.delivery_count == 0
    assert all_of(partition) == [
        (0, 1, RecordState.AVAILABLE, 0),
        (2, 3, RecordState.ACKNOWLEDGED, 1),
    ]
    partition.in_flight.batches[0].runs[0].acquire("m", 1)
    assert (first.first, first.last, first.state) == (0, 1, RecordState.AVAILABLE)
    assert isinstance(first, Run)


def test_partitions_are_told_by_topic_and_number_as_they_were() -> None:
    group = share_group(("t", 2), ("s", 1))
    found = stateful_partitions(group)
    assert next(found)[0] == "s"
    group.stateful.clear()
    assert [(name, key.partition) for name, key in found] == [("t", 0), ("t", 1)]
    assert [*stateful_partitions(share_group(("t", 1), ("s", 1)), "t")] == [
        ("t", ShareKey("g", TOPIC_ID, 0))
    ]


@pytest.mark.parametrize(
    ("opened", "kept", "start"),
    [
        (None, None, None),
        (None, kept_state(NO_START, []), None),
        (None, kept_state(4, []), 4),
        (SharePartition(7, [], ShareSettings()), kept_state(4, []), 7),
    ],
)
def test_what_is_known_of_a_partition(
    opened: SharePartition | None, kept: KeptState | None, start: int | None
) -> None:
    fake = FakeLife(
        share_group(("t", 1)),
        {} if opened is None else {0: opened},
        {} if kept is None else {0: kept},
    )
    key = ShareKey("g", TOPIC_ID, 0)
    known = known_of(fake.life, key)
    assert (None if known is None else progress_of(known).start_offset) == start
    fake.life.coordinators.groups.shares.is_known = lambda key: False
    assert known_of(fake.life, key) is None
