"""Offsets that the test bench commits for a group."""

from collections.abc import Mapping
from itertools import islice
from typing import Final, cast

from broker_lite.coordinator.effects import Caller
from broker_lite.errors import ErrorCode
from broker_lite.server.life import Life
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.group_views import group_of
from broker_lite.testbench.turns import Turns
from broker_lite.wire import messages

# the last version of OffsetCommit that names topics
_COMMIT_BY_NAME: Final = 9
_BAD_REQUEST: Final = 400
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_OFFSET_MAX: Final = 2**63 - 1
# A commit of so many takes some 3 ms.
_PARTITIONS_AT_A_TIME: Final = 200


async def commit_offsets(life: Life, group_id: str, given: Mapping[str, Mapping[int, int]]) -> None:
    """Commit offsets for a group without members, which is made if there is none.

    Other tasks run in between. A member that joins meanwhile ends it; some offsets are set then.

    Args:
        life: of the broker.
        group_id: the group.
        given: topic, then partition, then offset.

    Raises:
        ControlError: the group has members, or a partition does not exist.
        NotCoordinator: its state cannot be read now, so nothing is committed.
    """
    service = life.coordinators.groups
    service.topic.ensure()
    group = group_of(life, group_id)
    if group is not None and group.roster.members:
        text = f"group {group_id} has {len(group.roster.members)} members; it has to be empty"
        raise ControlError(_CONFLICT, text)
    turns = Turns()
    for topic, offsets in given.items():
        await _check_offsets(life, topic, offsets, turns)
    for topic, offsets in given.items():
        pairs = iter(offsets.items())
        while some := dict(islice(pairs, _PARTITIONS_AT_A_TIME)):
            await _commit(life, group_id, topic, some)
            await turns.next()


async def _commit(life: Life, group_id: str, topic: str, offsets: Mapping[int, int]) -> None:
    make = messages.OffsetCommitRequest
    partitions = [
        make.OffsetCommitRequestPartition(
            partition_index=index, committed_offset=offset, committed_leader_epoch=-1
        )
        for index, offset in offsets.items()
    ]
    request = make(
        group_id=group_id,
        generation_id_or_member_epoch=-1,
        topics=[make.OffsetCommitRequestTopic(name=topic, partitions=partitions)],
    )
    caller = Caller(_COMMIT_BY_NAME, "", "", None)
    service = life.coordinators.groups
    answer = cast(
        "messages.OffsetCommitResponse",
        await service.ask(service.coordinator.commits.commit, group_id, request, caller),
    )
    for told in answer.topics:
        for each in told.partitions:
            if each.error_code:
                text = f"{told.name}-{each.partition_index}: {ErrorCode(each.error_code).name}"
                raise ControlError(_CONFLICT, text)


async def _check_offsets(life: Life, name: str, offsets: Mapping[int, int], turns: Turns) -> None:
    topic = life.cluster.topics.get(name)
    if topic is None:
        raise ControlError(_NOT_FOUND, f"there is no topic {name!r}", name)
    for index, offset in offsets.items():
        if not 0 <= index < topic.partition_count:
            has = f"topic {name} has {topic.partition_count} partitions, not {index}"
            raise ControlError(_NOT_FOUND, has, f"{name}.{index}")
        if not 0 <= offset <= _OFFSET_MAX:
            raise ControlError(_BAD_REQUEST, f"{offset} is no offset", f"{name}.{index}")
        await turns.next()
