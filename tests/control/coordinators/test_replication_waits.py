"""Answers of the group coordinator while a replica of its partition is behind.

Also tests: broker_lite.control.coordinators.group_state.
"""

import asyncio
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_lite.control.replication.replica_manager import ReplicaManager
from broker_lite.control.topics.internal_topics import OFFSETS_TOPIC
from broker_lite.errors import BrokerError, CoordinatorNotAvailable, ErrorCode, NotCoordinator
from broker_lite.log.replicas import Lag
from broker_lite.wire import messages
from tests.control.group_node import error_of
from tests.control.trio import Trio

TIMEOUT_MS = 5000
FROZEN = Lag(is_frozen=True)


class LaggingTrio(Trio):
    """Three brokers; a replica of the partition of the group g can be behind."""

    def start(self) -> None:
        super().start()
        self.manager = ReplicaManager(self.cluster, self.clock)

    def lag(self, number: int = 0) -> None:
        """Freeze a follower; number 0 is the one that would lead next."""
        topic = self.cluster.topics[OFFSETS_TOPIC]
        replicas = topic.partitions[self.partition].replicas
        self.follower = [each for each in replicas if each != self.leader][number]
        self.manager.fall_behind(topic, self.partition, self.follower, FROZEN)

    def catch_up(self) -> None:
        topic = self.cluster.topics[OFFSETS_TOPIC]
        self.manager.catch_up(topic, self.partition, self.follower)

    def step(self, step_ms: int) -> None:
        self.clock.step(step_ms)
        self.groups.on_time()

    @property
    def waits(self) -> int:
        """How many answers wait."""
        return len(self.groups._waits._timers)

    @property
    def is_watched(self) -> bool:
        return self.cluster.log(OFFSETS_TOPIC, self.partition).visibility.is_watched


@pytest.fixture
def trio(tmp_path: Path) -> Iterator[LaggingTrio]:
    trio = LaggingTrio(tmp_path / "data")
    yield trio
    trio.cluster.close(sync=False)


async def begun(asked: Awaitable[Any]) -> "asyncio.Future[Any]":
    """Send a request, and let it come as far as it does at once."""
    task = asyncio.ensure_future(asked)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


async def refused(asked: Awaitable[Any]) -> type[BrokerError] | None:
    """The error of a request, None if it succeeds."""
    try:
        await asked
    except BrokerError as error:
        return type(error)
    return None


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


# -- events without records, and members


def test_c72_a_heartbeat_waits_for_the_records_before_it(trio: LaggingTrio) -> None:
    async def scene() -> None:
        member_id = await trio.settled_member()
        trio.lag()
        assert await trio.heartbeat(member_id, 1) == 0  # nothing is written that it could wait for
        committing = await begun(trio.commit(trio.neighbour))
        beating = await begun(trio.heartbeat(member_id, 1))
        assert not beating.done()
        assert await trio.heartbeat(member_id, 2) == ErrorCode.ILLEGAL_GENERATION  # at once
        trio.catch_up()
        assert await beating == 0
        assert error_of(await committing) == 0

    asyncio.run(scene())


def test_c72_the_leaders_sync_waits_and_its_join_does_not(trio: LaggingTrio) -> None:
    """The id that a new member gets is no state of the group that could be lost."""

    async def scene() -> None:
        trio.lag()
        joined = await trio.join("")
        assert joined.error_code == ErrorCode.MEMBER_ID_REQUIRED
        member_id = joined.member_id
        assert (await trio.join(member_id)).generation_id == 1
        one = messages.SyncGroupRequest.SyncGroupRequestAssignment
        assignments = [one(member_id=member_id, assignment=b"a")]
        fields = {"group_id": "g", "member_id": member_id, "generation_id": 1}
        syncing = await begun(trio.ask("SyncGroup", 3, assignments=assignments, **fields))
        assert not syncing.done()
        trio.catch_up()
        assert (await syncing).assignment == b"a"

    asyncio.run(scene())


def test_c72_a_join_that_waits_for_members_is_refused_with_the_records_before_it(
    trio: LaggingTrio,
) -> None:
    async def scene() -> None:
        await trio.settled_member()
        second = (await trio.join("")).member_id
        trio.lag()
        committing = await begun(trio.commit(trio.neighbour))
        joining = await begun(trio.join(second))
        trio.step(TIMEOUT_MS)
        assert await refused(joining) is CoordinatorNotAvailable
        assert await refused(committing) is CoordinatorNotAvailable
        assert trio.states()["g"] == "PreparingRebalance"

    asyncio.run(scene())


def test_c72_a_static_member_that_rejoins_waits_for_its_record(trio: LaggingTrio) -> None:
    async def scene() -> None:
        types = messages.JoinGroupRequest
        fields = {
            "group_id": "g",
            "group_instance_id": "i",
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 20_000,
            "protocol_type": "consumer",
            "protocols": [types.JoinGroupRequestProtocol(name="range", metadata=b"")],
        }
        member_id = (await trio.ask("JoinGroup", 5, **fields)).member_id
        one = messages.SyncGroupRequest.SyncGroupRequestAssignment
        assignments = [one(member_id=member_id, assignment=b"a")]
        named = {"group_id": "g", "member_id": member_id, "group_instance_id": "i"}
        await trio.ask("SyncGroup", 3, generation_id=1, assignments=assignments, **named)
        trio.lag()
        rejoining = await begun(trio.ask("JoinGroup", 5, **fields))
        assert not rejoining.done()
        trio.catch_up()
        assert (await rejoining).generation_id == 1

    asyncio.run(scene())


def test_c72_a_heartbeat_of_a_consumer_group(trio: LaggingTrio) -> None:
    async def scene() -> None:
        trio.lag()
        beating = await begun(trio.consume("m"))
        assert not beating.done()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.shield(beating), 0.01)
        assert (await trio.consume("other", 9)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
        trio.catch_up()
        assert (await beating).member_epoch > 0

    asyncio.run(scene())


@pytest.mark.parametrize(("group_id", "generation"), [("g", 5), ("no", 3)])
def test_c72_a_commit_that_the_group_refuses_does_not_wait(
    trio: LaggingTrio, group_id: str, generation: int
) -> None:
    async def scene() -> None:
        await trio.settled_member()
        trio.lag()
        committing = await begun(trio.commit(trio.neighbour))
        types = messages.OffsetCommitRequest
        topic = types.OffsetCommitRequestTopic(
            name="t", partitions=[types.OffsetCommitRequestPartition(partition_index=0)]
        )
        name = group_id if trio.groups.partition_of(group_id) == trio.partition else "g"
        fields = {"group_id": name, "member_id": "no", "topics": [topic]}
        fields["generation_id_or_member_epoch"] = generation
        assert error_of(await trio.ask("OffsetCommit", 8, **fields)) == 25
        committing.cancel()

    asyncio.run(scene())


def test_c72_members_that_leave(trio: LaggingTrio) -> None:
    """What is wrong with a single member waits, an unknown group does not."""

    async def scene() -> None:
        member_id = await trio.settled_member()
        trio.lag()
        identity = messages.LeaveGroupRequest.MemberIdentity
        members = [identity(member_id=member_id), identity(member_id="no")]
        leaving = await begun(trio.ask("LeaveGroup", 3, group_id="g", members=members))
        assert not leaving.done()
        absent = next(
            name
            for name in (f"u{number}" for number in range(100))
            if trio.groups.partition_of(name) == trio.partition
        )
        answer = await trio.ask("LeaveGroup", 3, group_id=absent, members=members[1:])
        assert [each.error_code for each in answer.members] == [25]
        trio.catch_up()
        assert [each.error_code for each in (await leaving).members] == [0, 25]

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
    waits = trio.groups._waits
    asyncio.run(trio.commit())
    assert waits.offset_to_reach(trio.partition) is None
    trio.lag()
    unloaded = next(each for each in range(3) if each != trio.partition)
    assert trio.groups.topic.loaded_log(unloaded) is None
    assert waits.offset_to_reach(unloaded) is None
    assert waits.offset_to_reach(trio.partition) is None
    assert trio.is_watched is False
