"""What a share group has in flight: others run meanwhile, and what is told is of one time."""

import asyncio

import pytest

from broker_lite.coordinator.share_records.in_flight import InFlightBatch, Run
from broker_lite.coordinator.share_records.partition import SharePartition
from broker_lite.coordinator.share_records.settings import ShareSettings
from broker_lite.coordinator.share_records.state import RecordState, StateBatch
from broker_lite.testbench.share_views import share_view
from tests.testbench.conftest import Others
from tests.testbench.shared_groups import FakeLife, share_group
from tests.testbench.test_share_runs import kept_state

PARTITIONS = 50
DONE = StateBatch(2, 3, int(RecordState.ACKNOWLEDGED), 1)


def test_others_run_after_each_partition_that_nobody_has_read_from(others: Others) -> None:
    group = share_group(("t", PARTITIONS))
    fake = FakeLife(group)
    assert asyncio.run(others.while_running(share_view(fake.life, group))) >= PARTITIONS
    view = asyncio.run(share_view(fake.life, group))
    assert len(view.partitions["t"]) == PARTITIONS
    assert fake.loads == []
    assert {(each.start, each.end, each.lag) for each in view.partitions["t"].values()} == {
        (None, None, None)
    }
    assert view.lag is None


def test_partitions_that_are_left_out_count() -> None:
    group = share_group(("t", 5))
    kept = {index: kept_state(0, [DONE]) for index in range(5)}
    fake = FakeLife(group, kept=kept, end=10)
    view = asyncio.run(share_view(fake.life, group, partitions=2))
    assert [*view.partitions["t"]] == ["0", "1"]
    assert [each.first for each in view.partitions["t"]["0"].runs] == [0, 2]
    assert (view.partitions_left_out, view.lag) == (3, 5 * 8)
    assert len(fake.loads) == 5


def test_a_topic_that_was_deleted_or_made_anew_is_not_told() -> None:
    group = share_group(("t", 1), ("s", 1))
    fake = FakeLife(group, kept={0: kept_state(0, [])})
    del fake.topics["s"]
    assert [*asyncio.run(share_view(fake.life, group)).partitions] == ["t"]
    fake.topics["t"].topic_id = bytes(16)
    assert asyncio.run(share_view(fake.life, group)).partitions == {}


def test_a_log_that_cannot_be_read_is_not_told() -> None:
    group = share_group(("t", 1))
    fake = FakeLife(group, kept={0: kept_state(0, [])})
    fake.life.cluster.log = lambda name, index: fake._load("gone", index)
    assert asyncio.run(share_view(fake.life, group)).partitions == {}


def many_runs() -> SharePartition:
    """A member has acquired every second of 1,000 records again, and holds the others still."""
    partition = SharePartition(0, [], ShareSettings())
    batch = InFlightBatch(Run(0, 999, RecordState.ACQUIRED, 1, "m", 10**9))
    partition.in_flight.add(batch)
    partition.end_offset = 999
    batch.cut_at(range(1, 1000))
    partition.in_flight.run_count = 1000
    for run in batch.runs[1::2]:
        partition.settle(run, RecordState.AVAILABLE)
    return partition


@pytest.mark.usefixtures("others")
def test_records_that_are_acknowledged_meanwhile_count_once() -> None:
    partition, group = many_runs(), share_group(("t", 1))
    fake = FakeLife(group, {0: partition}, end=2000)

    async def member() -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        done = [each for each in partition.in_flight.batches[0].runs if each.first >= 2]
        for run in done:
            partition.settle(run, RecordState.ACKNOWLEDGED)
        assert partition.changed(done) is not None

    async def both() -> tuple[int | None, int, int, list[str]]:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(member())
            view = (await share_view(fake.life, group, runs=9)).partitions["t"]["0"]
        return view.lag, view.acknowledged, view.runs_left_out, [each.state for each in view.runs]

    states = ["acquired", "available"] * 4 + ["acquired"]
    assert asyncio.run(both()) == (2000, 0, 991, states)
    after = asyncio.run(share_view(fake.life, group)).partitions["t"]["0"]
    assert (after.lag, after.acknowledged) == (1002, 998)
