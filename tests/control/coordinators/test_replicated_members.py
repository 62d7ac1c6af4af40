"""Members of groups while a replica of their partition is behind."""

import asyncio

import pytest

from broker_lite.errors import CoordinatorNotAvailable, ErrorCode
from broker_lite.wire import messages
from tests.control.group_node import error_of
from tests.control.lagging_trio import LaggingTrio, begun, refused

TIMEOUT_MS = 5000


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
