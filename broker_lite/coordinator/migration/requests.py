"""SyncGroup, Heartbeat and LeaveGroup of members that use the classic protocol in a consumer group.

Rule: G-109 to G-111.
"""

from broker_lite.coordinator.classic.answers import (
    LeaveResult,
    answer_heartbeat,
    answer_leave,
    leaving_members,
    refuse_sync,
)
from broker_lite.coordinator.consumer.checks import known_member, known_static_member
from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.consumer.leave import put_out
from broker_lite.coordinator.consumer.member import ClassicMemberData, ConsumerMember, MemberState
from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.embedded_protocol import PROTOCOL_TYPE
from broker_lite.coordinator.migration.downgrade import assignment_bytes
from broker_lite.coordinator.timers import JOIN, SYNC
from broker_lite.errors import BrokerError, ErrorCode, IllegalGeneration, UnknownMemberId
from broker_lite.wire import messages


def sync(
    group: ConsumerGroup,
    request: messages.SyncGroupRequest,
    caller: Caller,
    effects: Effects,
    now_ms: int,
) -> None:
    """Handle a SyncGroup that `check_sync` accepted; it is answered at once.

    Rule: G-109 (GroupMetadataManager.classicGroupSyncToConsumerGroup).
    """
    try:
        member, classic = _member(group, request)
    except BrokerError as error:
        refuse_sync(effects, caller, error.code)
        return
    name, metadata = classic.protocols[0]
    if request.protocol_type not in (None, PROTOCOL_TYPE) or request.protocol_name not in (
        None,
        name,
    ):
        refuse_sync(effects, caller, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    elif (
        _epoch_to_reach(group) > member.member_epoch
        and member.state is not MemberState.UNREVOKED_PARTITIONS
    ):
        _wait_for_join(group, member, now_ms)
        refuse_sync(effects, caller, ErrorCode.REBALANCE_IN_PROGRESS)
    else:
        group.timers.cancel(SYNC, member.member_id)
        group.start_session(member, now_ms)
        response = messages.SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=assignment_bytes(member.assigned, metadata, group.topics),
        )
        effects.reply(caller.token, response)


def heartbeat(
    group: ConsumerGroup,
    request: messages.HeartbeatRequest,
    caller: Caller,
    effects: Effects,
    now_ms: int,
) -> None:
    """Handle a Heartbeat; the member has to join again if its assignment has to change.

    Rule: G-110 (GroupMetadataManager.classicGroupHeartbeatToConsumerGroup).
    """
    try:
        member, _ = _member(group, request)
    except BrokerError as error:
        answer_heartbeat(effects, caller, error.code)
        return
    group.start_session(member, now_ms)
    error_code = ErrorCode.NONE
    if (
        member.member_epoch < _epoch_to_reach(group)
        or member.state is MemberState.UNREVOKED_PARTITIONS
        or (
            member.state is MemberState.UNRELEASED_PARTITIONS
            and not _waits_for_partitions(group, member)
        )
    ):
        _wait_for_join(group, member, now_ms)
        error_code = ErrorCode.REBALANCE_IN_PROGRESS
    answer_heartbeat(effects, caller, error_code)


def leave(
    group: ConsumerGroup,
    request: messages.LeaveGroupRequest,
    caller: Caller,
    effects: Effects,
    now_ms: int,
) -> None:
    """Handle a LeaveGroup; all members that leave are removed in one step.

    Rule: G-111 (GroupMetadataManager.classicGroupLeaveToConsumerGroup).
    """
    results: list[LeaveResult] = []
    leaving: dict[str, None] = {}
    for member_id, instance_id in leaving_members(request, caller.version):
        error_code = ErrorCode.NONE
        try:
            leaving[_leaving_id(group, member_id, instance_id)] = None
        except BrokerError as error:
            error_code = error.code
        results.append((member_id, instance_id, error_code))
    answer_leave(effects, caller, results)
    put_out(group, list(leaving), effects, now_ms)


def _epoch_to_reach(group: ConsumerGroup) -> int:
    """Return the epoch that a member has to reach; below it, the member has to join again.

    It is the epoch of the target assignment. The next heartbeat of a member of the consumer
    protocol computes a new target assignment. Without such a member, a case that Kafka ignores,
    only the next join computes it; so the epoch to reach is the group's.

    Rule: G-110, measured.
    """
    has_others = len(group.roster.members) > group.roster.classic_count
    return group.target_epoch if has_others else group.group_epoch


def _leaving_id(group: ConsumerGroup, member_id: str, instance_id: str | None) -> str:
    """Return the id of a leaving member; an operator names a static one by its instance id only."""
    if instance_id is None:
        return known_member(group, member_id).member_id
    named_id = member_id or group.roster.static_members.get(instance_id, "")
    return known_static_member(group, named_id, instance_id).member_id


def _member(
    group: ConsumerGroup, request: "messages.SyncGroupRequest | messages.HeartbeatRequest"
) -> tuple[ConsumerMember, ClassicMemberData]:
    """Return the member of a request, and its data of the classic protocol.

    Raises:
        BrokerError: there is no such member, it does not use the classic protocol, another member
            id has its instance id, or the generation is wrong.
    """
    member_id = request.member_id
    instance_id = request.group_instance_id
    member = (
        known_member(group, member_id)
        if instance_id is None
        else known_static_member(group, member_id, instance_id)
    )
    if member.classic is None:
        raise UnknownMemberId
    if request.generation_id != member.member_epoch:
        raise IllegalGeneration
    return member, member.classic


def _waits_for_partitions(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Return whether a member still has to wait for partitions of its target.

    Rule: G-110 (ConsumerGroup.waitingOnUnreleasedPartition).
    """
    return any(
        partition not in member.assigned.get(topic_id, ())
        and group.roster.owner_of(topic_id, partition) is not None
        for topic_id, partitions in group.target_of(member.member_id).items()
        for partition in partitions
    )


def _wait_for_join(group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
    """Start the timer within which a member has to join again, if it does not run already.

    The rebalance timeout counts from the first response that tells the member to join again.
    """
    if not group.timers.is_set(JOIN, member.member_id):
        deadline_ms = now_ms + max(member.rebalance_timeout_ms, 0)
        group.timers.set(JOIN, member.member_id, deadline_ms)
