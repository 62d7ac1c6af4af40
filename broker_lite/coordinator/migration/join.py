"""JoinGroup of the classic protocol to a consumer group that has members.

Such a member takes the same steps as one that sends ConsumerGroupHeartbeat: its metadata has its
subscription and the partitions that it owns. The response never lists members, so that the member
assigns nothing.

Rule: G-108 (GroupMetadataManager.classicGroupJoinToConsumerGroup).
"""

from dataclasses import replace
from typing import Final

from broker_lite.coordinator.classic.answers import refuse_join
from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.classic.phases import prepare_rebalance
from broker_lite.coordinator.consumer import changes
from broker_lite.coordinator.consumer.checks import check_memory, check_size, known_static_member
from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.consumer.heartbeat import (
    Admission,
    advance,
    reconcile_member,
    replace_member,
    update_group_epoch,
)
from broker_lite.coordinator.consumer.member import ClassicMemberData, ConsumerMember
from broker_lite.coordinator.consumer.reconcile import Owned
from broker_lite.coordinator.consumer.regexes import update_regex
from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.embedded_protocol import PROTOCOL_TYPE, parse_subscription
from broker_lite.coordinator.group_history import shown
from broker_lite.coordinator.migration.downgrade import convert
from broker_lite.coordinator.timers import JOIN, SYNC
from broker_lite.errors import BrokerError, ErrorCode, InconsistentGroupProtocol, UnknownServerError
from broker_lite.wire import DecodeError, messages

# from this version on, a dynamic member has to join with an id that the broker gave it (KIP-394)
_ID_REQUIRED: Final = 4


def join(
    group: ConsumerGroup,
    request: messages.JoinGroupRequest,
    caller: Caller,
    effects: Effects,
    now_ms: int,
) -> ClassicGroup | None:
    """Handle a JoinGroup that `check_join` accepted; it is answered at once.

    Returns:
        The classic group if the group was converted into one, otherwise None.
    """
    try:
        return _join(group, request, caller, effects, now_ms)
    except BrokerError as error:
        refuse_join(effects, caller, error.code)
        return None


def _join(
    group: ConsumerGroup,
    request: messages.JoinGroupRequest,
    caller: Caller,
    effects: Effects,
    now_ms: int,
) -> ClassicGroup | None:
    if not (group.settings.upgrade or group.settings.downgrade):
        raise InconsistentGroupProtocol  # G-12: migration policy "disabled"
    member_id = request.member_id or group.new_member_id()
    protocols = tuple((protocol.name, protocol.metadata) for protocol in request.protocols)
    check_size(group, member_id, group.settings)
    _check_protocols(group, request, protocols)
    instance_id = request.group_instance_id
    if not request.member_id and instance_id is None and caller.version >= _ID_REQUIRED:
        refuse_join(effects, caller, ErrorCode.MEMBER_ID_REQUIRED, member_id)
        return None
    admission = _admit(group, request, member_id)
    subscription = _subscription(protocols)
    updated = _updated(admission.member, request, caller, subscription, protocols)
    check_memory(group, updated, group.settings)
    owned = _owned(group, subscription)
    classic = None
    if _replaces_last_consumer(group, admission.replaced):
        updated, classic = _downgrade(group, admission, updated, owned, effects, now_ms)
    else:
        updated = advance(group, admission, updated, owned, effects, now_ms)
        _start_timers(group, updated, now_ms)
    response = messages.JoinGroupResponse(
        generation_id=updated.member_epoch,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=protocols[0][0],
        member_id=updated.member_id,
    )
    effects.reply(caller.token, response)
    return classic


def _check_protocols(
    group: ConsumerGroup,
    request: messages.JoinGroupRequest,
    protocols: tuple[tuple[str, bytes], ...],
) -> None:
    names = [name for name, _ in protocols]
    if request.protocol_type != PROTOCOL_TYPE or not group.roster.classic_members_know_one_of(
        names
    ):
        raise InconsistentGroupProtocol


def _admit(group: ConsumerGroup, request: messages.JoinGroupRequest, member_id: str) -> Admission:
    """Return the member of a JoinGroup, or a new one; a dynamic member may have any member id."""
    instance_id = request.group_instance_id
    if instance_id is not None:
        if request.member_id:
            return Admission(known_static_member(group, member_id, instance_id))
        holder_id = group.roster.static_members.get(instance_id)
        if holder_id is not None:
            holder = group.roster.members[holder_id]
            member = replace(holder, member_id=member_id, member_epoch=0, previous_member_epoch=0)
            return Admission(member, replaced=holder)
    known = group.roster.members.get(member_id)
    if known is not None:
        return Admission(known)
    return Admission(ConsumerMember(member_id=member_id), is_new=True)


def _subscription(
    protocols: tuple[tuple[str, bytes], ...],
) -> messages.ConsumerProtocolSubscription:
    """Return a member's subscription, from its first protocol: all protocols have the same one."""
    try:
        return parse_subscription(protocols[0][1])
    except DecodeError:
        raise UnknownServerError from None


def _updated(
    member: ConsumerMember,
    request: messages.JoinGroupRequest,
    caller: Caller,
    subscription: messages.ConsumerProtocolSubscription,
    protocols: tuple[tuple[str, bytes], ...],
) -> ConsumerMember:
    timeout_ms = request.rebalance_timeout_ms if caller.version else request.session_timeout_ms
    return replace(
        member,
        instance_id=member.instance_id or request.group_instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=timeout_ms,
        topic_names=tuple(sorted(set(subscription.topics))),
        regex="",
        client_id=caller.client_id,
        client_host=caller.client_host,
        classic=ClassicMemberData(
            session_timeout_ms=request.session_timeout_ms, protocols=protocols
        ),
    )


def _owned(group: ConsumerGroup, subscription: messages.ConsumerProtocolSubscription) -> Owned:
    owned: dict[bytes, set[int]] = {}
    for entry in subscription.owned_partitions:
        topic = group.topics.get(entry.topic)
        if topic is not None:
            owned.setdefault(topic.topic_id, set()).update(entry.partitions)
    return owned


def _start_timers(group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
    """Start a member's session, and the timer within which it has to send SyncGroup.

    See: G-110.
    """
    group.timers.cancel(JOIN, member.member_id)
    group.start_session(member, now_ms)
    deadline_ms = now_ms + max(member.rebalance_timeout_ms, 0)
    group.timers.set(SYNC, member.member_id, deadline_ms)


def _replaces_last_consumer(group: ConsumerGroup, replaced: ConsumerMember | None) -> bool:
    """Return whether the group has to be converted: the last consumer-protocol member is replaced.

    See: G-107 (GroupMetadataManager.validateOnlineDowngradeWithReplacedMember).
    """
    settings = group.settings
    return (
        replaced is not None
        and replaced.classic is None
        and group.roster.classic_count == len(group.roster.members) - 1
        and settings.downgrade
        and len(group.roster.members) <= settings.classic_size_max
    )


def _downgrade(
    group: ConsumerGroup,
    admission: Admission,
    updated: ConsumerMember,
    owned: Owned,
    effects: Effects,
    now_ms: int,
) -> tuple[ConsumerMember, ClassicGroup]:
    """Replace the last member of the consumer protocol, and convert the group into a classic one.

    If the member's subscription is unchanged, it keeps its partitions; otherwise the group
    rebalances.

    See: G-107 (GroupMetadataManager.convertToClassicGroup).
    """
    member = admission.member
    assert admission.replaced is not None
    replace_member(group, admission.replaced, member, effects)
    changes.put_member(group, updated, effects)
    is_changed = updated.topic_names != member.topic_names or updated.regex != member.regex
    if updated.regex != member.regex:
        update_regex(group, member.regex, updated.regex, effects, now_ms)
    update_group_epoch(group, effects, now_ms, changed=updated.member_id if is_changed else None)
    if not is_changed:
        updated = reconcile_member(
            group, updated, owned, effects, now_ms, is_subscription_changed=False
        )
    classic = convert(group, (), effects, now_ms)
    if is_changed:
        why = f"the subscription of member {shown(updated.member_id)} changed"
        prepare_rebalance(classic, effects, now_ms, why)
    return updated, classic
