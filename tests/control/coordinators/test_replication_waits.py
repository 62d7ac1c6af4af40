"""Answers of the group coordinator while a replica of its partition is behind."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from broker_lite.control.coordinators.replication_waits import ReplicationWaits
from broker_lite.control.topics.internal_topics import OFFSETS_TOPIC
from broker_lite.errors import CoordinatorNotAvailable, ErrorCode, NotCoordinator
from broker_lite.log.replicas import Lag
from tests.control.group_node import error_of
from tests.control.lagging_trio import LaggingTrio, begun, refused

TIMEOUT_MS = 5000


def test_c72_a_commit_is_answered_when_the_replicas_have_it(trio: LaggingTrio) -> None:
    async def scene() -> None:
        trio.lag()
        committing = await begun(trio.commit())
        assert (committing.done(), trio.waits) == (False, 1)
        trio.step(TIMEOUT_MS - 1)
        assert not committing.done()
        trio.catch_up()
        assert error_of(await committing) == 0
        assert (trio.waits, trio.is_watched) == (0, False)

    asyncio.run(scene())


def test_c72_a_commit_takes_too_long(trio: LaggingTrio) -> None:
    """The commit stays in memory and in the log, so a later answer may show it."""

    async def scene() -> None:
        trio.lag()
        committing = await begun(trio.commit())
        assert trio.groups.next_deadline_ms() == trio.clock.steady_ms() + TIMEOUT_MS
        trio.step(TIMEOUT_MS)
        assert await refused(committing) is CoordinatorNotAvailable
        assert (trio.waits, trio.is_watched) == (0, False)
        trio.catch_up()
        assert trio.offsets() == {("t", 0): 7}
        assert error_of(await trio.commit(offset=8)) == 0

    asyncio.run(scene())


def test_c72_the_timeout_is_a_setting(tmp_path: Path) -> None:
    async def scene() -> None:
        trio.lag()
        committing = await begun(trio.commit())
        trio.step(10)
        assert await refused(committing) is CoordinatorNotAvailable

    trio = LaggingTrio(tmp_path / "data", offsets_commit_timeout_ms="10")
    asyncio.run(scene())
    trio.cluster.close(sync=False)


def test_c72_commits_are_answered_in_their_order(trio: LaggingTrio) -> None:
    """A replica that is some records behind has the older commits."""

    async def scene() -> None:
        topic = trio.cluster.topics[OFFSETS_TOPIC]
        await trio.commit()
        trio.lag()
        trio.manager.fall_behind(topic, trio.partition, trio.follower, Lag(records=1))
        first = await begun(trio.commit(offset=8))
        assert not first.done()
        second = await begun(trio.commit(offset=9))
        assert (error_of(await first), second.done()) == (0, False)
        trio.catch_up()
        assert error_of(await second) == 0

    asyncio.run(scene())


def test_c72_other_partitions_do_not_wait(trio: LaggingTrio) -> None:
    async def scene() -> None:
        other = next(name for name in "abcdef" if trio.groups.partition_of(name) != trio.partition)
        trio.lag()
        assert error_of(await trio.commit(other)) == 0

    asyncio.run(scene())


def test_c72_a_replica_that_leaves_the_isr_ends_the_wait(trio: LaggingTrio) -> None:
    async def scene() -> None:
        trio.lag()
        committing = await begun(trio.commit())
        topic = trio.cluster.topics[OFFSETS_TOPIC]
        trio.manager.shrink_isr(topic, trio.partition, trio.follower)
        assert error_of(await committing) == 0

    asyncio.run(scene())


@pytest.mark.parametrize(("number", "offsets"), [(0, {}), (1, {("t", 0): 7})])
def test_c72_c63_a_group_that_moves_while_a_commit_waits(
    trio: LaggingTrio, number: int, offsets: dict[tuple[str, int], int]
) -> None:
    """The new coordinator knows the commit only if its replica has it."""

    async def scene() -> None:
        trio.lag(number)
        committing = await begun(trio.commit())
        trio.move()
        assert await refused(committing) is NotCoordinator
        assert trio.waits == 0
        assert trio.offsets() == offsets

    asyncio.run(scene())


def test_c72_c65_a_group_whose_leader_stays_waits_on(trio: LaggingTrio) -> None:
    async def scene() -> None:
        trio.lag()
        committing = await begun(trio.commit())
        topic = trio.cluster.topics[OFFSETS_TOPIC]
        before = topic.partitions[trio.partition]
        after = before._replace(leader_epoch=before.leader_epoch + 1)
        trio.cluster.controller.alter(topic, trio.partition, after)
        assert not committing.done()
        trio.catch_up()
        assert error_of(await committing) == 0

    asyncio.run(scene())


def test_c72_a_topic_that_is_deleted_ends_the_wait(trio: LaggingTrio) -> None:
    async def scene() -> None:
        trio.lag()
        committing = await begun(trio.commit())
        trio.cluster.delete_topics([trio.cluster.topics[OFFSETS_TOPIC]])
        assert await refused(committing) is NotCoordinator
        assert trio.waits == 0

    asyncio.run(scene())


def test_c72_a_client_that_goes_away_leaves_nothing_behind(trio: LaggingTrio) -> None:
    async def scene() -> None:
        trio.lag()
        committing = await begun(trio.commit())
        committing.cancel()
        await asyncio.gather(committing, return_exceptions=True)
        trio.step(TIMEOUT_MS)
        assert (trio.waits, trio.is_watched) == (0, False)

    asyncio.run(scene())


# -- with a flush before


def test_c72_a_flush_comes_first(tmp_path: Path) -> None:
    """Records that wait for a flush wait for the replicas after it."""
    flushes: list[Any] = []

    async def scene() -> None:
        trio.lag()
        trio.cluster.logs.commits.start = flushes.append
        committing = await begun(trio.commit())
        assert (len(flushes), trio.waits) == (1, 0)
        visibility = flushes[0]
        visibility.flusher.flush(visibility.end_offset)
        visibility.flush_ended(visibility.end_offset, None)
        await asyncio.sleep(0)
        assert (committing.done(), trio.waits) == (False, 1)
        trio.catch_up()
        assert error_of(await committing) == 0

    trio = LaggingTrio(tmp_path / "data", log_flush_interval_messages="1")
    asyncio.run(scene())
    trio.cluster.close(sync=False)


# -- waiting without an event


def test_c72_what_was_written_of_groups_is_waited_for(trio: LaggingTrio) -> None:
    async def scene() -> None:
        groups = trio.groups
        trio.lag()
        assert await groups.unreplicated(["g"]) == {}
        committing = await begun(trio.commit())
        waiting = await begun(groups.unreplicated(["g", trio.neighbour]))
        assert not waiting.done()
        trio.step(TIMEOUT_MS)
        late = ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert await waiting == {"g": late, trio.neighbour: late}
        assert await refused(committing) is CoordinatorNotAvailable
        waiting = await begun(groups.unreplicated(["g"]))
        trio.catch_up()
        assert await waiting == {}

    asyncio.run(scene())


def test_c72_no_replica_behind_costs_no_wait(trio: LaggingTrio) -> None:
    """Of a partition whose log is not loaded nothing is waited for either."""
    waits = ReplicationWaits(trio.groups.topic, trio.clock, trio.alarm)
    asyncio.run(trio.commit())
    assert waits.offset_to_reach(trio.partition) is None
    trio.lag()
    unloaded = next(each for each in range(3) if each != trio.partition)
    assert trio.groups.topic.loaded_log(unloaded) is None
    assert waits.offset_to_reach(unloaded) is None
    assert waits.offset_to_reach(trio.partition) is None
    assert trio.is_watched is False
