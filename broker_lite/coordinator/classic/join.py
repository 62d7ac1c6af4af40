"""JoinGroup to a classic group.

Rule: G-38 to G-42, G-49, G-50 (GroupMetadataManager.classicGroupJoinToClassicGroup).
See: G-37, G-43 to G-48.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from broker_lite.coordinator.classic.answers import refuse_join
from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.classic.member import ClassicGroupState, ClassicMember, Protocol
from broker_lite.coordinator.classic.phases import (
    add_member,
    complete_if_all_joined,
    prepare_rebalance,
    rebalance_or_complete,
)
from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.group_history import shown
from broker_lite.coordinator.held_bytes import size_of_new, size_of_promise, size_of_protocols
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages

# from this version on, a dynamic member has to join with an id that the broker gave it (KIP-394)
_ID_REQUIRED: Final = 4
# from this version on, a leader can be told to keep the assignments (KIP-814)
_SKIP_ASSIGNMENT: Final = 9

_EMPTY: Final = ClassicGroupState.EMPTY
_PREPARING: Final = ClassicGroupState.PREPARING_REBALANCE
_COMPLETING: Final = ClassicGroupState.COMPLETING_REBALANCE
_STABLE: Final = ClassicGroupState.STABLE


class _Join(NamedTuple):
    """A JoinGroup that is being handled."""

    request: messages.JoinGroupRequest
    protocols: Sequence[Protocol]
    caller: Caller
    effects: Effects
    now_ms: int

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long a rebalance waits for the member; in v0 it is the session timeout.

        Rule: G-50.
        """
        request = self.request
        timeout_ms = (
            request.rebalance_timeout_ms if self.caller.version else request.session_timeout_ms
        )
        return int(timeout_ms)

    def refuse(self, error_code: ErrorCode, member_id: str = "") -> None:
        """Answer with an error."""
        refuse_join(self.effects, self.caller, error_code, member_id)


def join(
    group: ClassicGroup,
    request: messages.JoinGroupRequest,
    caller: Caller,
    effects: Effects,
    now_ms: int,
) -> None:
    """Handle a JoinGroup that `check_join` accepted; it may be answered after the join phase only.

    If the group was created for this request and this call wrote nothing, the caller has to call
    `write_created`.
    """
    member_id = request.member_id
    protocols = [(protocol.name, protocol.metadata) for protocol in request.protocols]
    event = _Join(request, protocols, caller, effects, now_ms)
    if not _accepts(group, member_id) or not _can_hold(group, event):
        group.drop_member(member_id, effects)
        event.refuse(ErrorCode.GROUP_MAX_SIZE_REACHED)
    elif not _can_agree_on_protocol(group, request.protocol_type, protocols):
        event.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id)
    elif not member_id:
        _join_new(group, event)
    elif member_id in group.roster.pending_members:
        if request.group_instance_id is None:
            _add(group, member_id, event)
        else:
            # the id was given to a dynamic member, not to a static one; Kafka fails here, too
            event.refuse(ErrorCode.UNKNOWN_SERVER_ERROR)
    else:
        error_code = group.roster.check_member(member_id, request.group_instance_id)
        if error_code is None:
            _join_known(group, group.roster.members[member_id], event)
        else:
            event.refuse(error_code, member_id)


def _accepts(group: ClassicGroup, member_id: str) -> bool:
    """Return whether the group's size limit allows a member.

    During the join phase only the members that have joined count. So if there are too many, those
    that join last are refused.

    Rule: G-38 (GroupMetadataManager.acceptJoiningMember).
    """
    if group.state is _EMPTY:
        return True
    size_max = group.settings.classic_size_max
    member = group.roster.members.get(member_id)
    if group.state is _PREPARING:
        is_parked = member is not None and member.join_token is not None
        return is_parked or group.rebalance.joins_parked < size_max
    return member is not None or len(group.roster.members) < size_max


def _can_hold(group: ClassicGroup, event: _Join) -> bool:
    """Return whether there is memory for a member's new data, in place of its old data."""
    member_id, instance_id = event.request.member_id, event.request.group_instance_id
    if not member_id and instance_id is not None:
        member_id = group.roster.static_members.get(instance_id, "")
    member = group.roster.members.get(member_id)
    more_bytes = size_of_protocols(event.protocols)
    if member is not None:
        more_bytes -= size_of_protocols(member.protocols)
    else:
        client_id = event.caller.client_id
        more_bytes += size_of_new(member_id or client_id, instance_id, client_id)
        if member_id in group.roster.pending_members:
            more_bytes -= size_of_promise(member_id)
    return group.roster.held.allows(more_bytes, group.settings.held_bytes_max)


def _can_agree_on_protocol(
    group: ClassicGroup, protocol_type: str, protocols: Sequence[Protocol]
) -> bool:
    """Return whether the group can still agree on a protocol if a member offers these.

    Rule: G-39 (ClassicGroup.supportsProtocols).
    """
    if group.state is _EMPTY:
        return bool(protocol_type and protocols)
    names = (name for name, _ in protocols)
    return protocol_type == group.protocol_type and group.roster.everyone_knows_one_of(names)


def _join_new(group: ClassicGroup, event: _Join) -> None:
    """Handle a JoinGroup without a member id.

    Rule: G-40 (GroupMetadataManager.classicGroupJoinNewMember).
    """
    instance_id = event.request.group_instance_id
    new_id = group.new_member_id(event.caller.client_id, instance_id)
    if instance_id is None and event.caller.version >= _ID_REQUIRED:
        _promise(group, new_id, event)
    elif instance_id in group.roster.static_members:
        member = group.roster.members[group.roster.static_members[instance_id]]
        _replace(group, member, new_id, event)
    else:
        _add(group, new_id, event)


def _promise(group: ClassicGroup, new_id: str, event: _Join) -> None:
    """Send a new member an id to join with, if there is memory to remember the id."""
    if not group.roster.held.allows(size_of_promise(new_id), group.settings.held_bytes_max):
        event.refuse(ErrorCode.GROUP_MAX_SIZE_REACHED)
        return
    group.roster.promise(new_id)
    deadline_ms = event.now_ms + event.request.session_timeout_ms
    group.rebalance.start_session(new_id, deadline_ms)
    event.refuse(ErrorCode.MEMBER_ID_REQUIRED, new_id)


def _add(group: ClassicGroup, member_id: str, event: _Join) -> None:
    if not group.roster.members:
        group.protocol_type = event.request.protocol_type
    member = ClassicMember(
        member_id,
        instance_id=event.request.group_instance_id,
        client_id=event.caller.client_id,
        client_host=event.caller.client_host,
        session_timeout_ms=event.request.session_timeout_ms,
        rebalance_timeout_ms=event.rebalance_timeout_ms,
        protocols=event.protocols,
    )
    add_member(group, member, event.caller, event.effects, event.now_ms)


def _join_known(group: ClassicGroup, member: ClassicMember, event: _Join) -> None:
    """Handle a JoinGroup of a member of the group.

    In CompletingRebalance the same metadata again means that the response was lost. In Stable a
    JoinGroup of the leader always starts a rebalance: something that its assignment depends on may
    have changed, such as the number of partitions.

    Rule: G-42 (GroupMetadataManager.classicGroupJoinExistingMember).
    """
    may_stay = group.state is _COMPLETING or (
        group.state is _STABLE and group.roster.leader != member.member_id
    )
    if may_stay and member.protocols == event.protocols:
        group.answer_join(member, event.caller, event.effects)
    else:
        _update(group, member, event)
        why = f"member {shown(member.member_id)} joined again"
        rebalance_or_complete(group, event.effects, event.now_ms, why)


def _update(group: ClassicGroup, member: ClassicMember, event: _Join) -> None:
    """Store a member's new protocols and timeouts, and let its JoinGroup wait.

    If the member has another open JoinGroup, nobody waits for its response any more. It gets one
    all the same, so that no request stays open.
    """
    group.roster.set_protocols(member, event.protocols)
    member.session_timeout_ms = event.request.session_timeout_ms
    member.rebalance_timeout_ms = event.rebalance_timeout_ms
    if (earlier := group.rebalance.take_join(member)) is not None:
        error_code = ErrorCode.REBALANCE_IN_PROGRESS
        refuse_join(event.effects, earlier, error_code, member.member_id)
    group.rebalance.park_join(member, event.caller)


def _replace(group: ClassicGroup, member: ClassicMember, new_id: str, event: _Join) -> None:
    """Handle a static member that rejoins: it gets a new id, and the old id is fenced.

    A stable group stays stable if it would choose the same protocol again. Before v9 the response
    names the leader from before, even if that was this member under its old id. So the member does
    not act as the leader and does not assign.

    Rule: G-49 (GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin).
    """
    caller, effects, now_ms = event.caller, event.effects, event.now_ms
    old_leader = group.roster.leader
    group.rebalance.end_session(member.member_id)
    group.refuse_waiting(member, ErrorCode.FENCED_INSTANCE_ID, effects, member.member_id)
    group.rebalance.replace_pending_sync(member.member_id, new_id)
    group.roster.replace_static(member, new_id)
    group.rebalance.restart_session(member, now_ms)
    _update(group, member, event)
    if group.state is _PREPARING:
        complete_if_all_joined(group, effects, now_ms)
    elif group.state is _STABLE and group.roster.select_protocol() == group.protocol_name:
        group.write(effects)
        group.rebalance.take_join(member)
        if caller.version >= _SKIP_ASSIGNMENT:
            leads = group.roster.leader == new_id
            group.answer_join(member, caller, effects, skip_assignment=leads)
        else:
            group.answer_join(member, caller, effects, with_members=False, leader=old_leader)
    else:
        why = f"member {shown(new_id)} took the place of a static member"
        prepare_rebalance(group, effects, now_ms, why)
