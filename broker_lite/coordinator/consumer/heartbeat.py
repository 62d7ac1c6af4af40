"""ConsumerGroupHeartbeat to an existing group: join, follow the assignment, leave.

Each heartbeat takes the same steps:

1. Find the member and check its epoch.
2. Update its subscription.
3. If the subscription or the topics changed, raise the group epoch.
4. If the group epoch is ahead of the target assignment's, compute a new target assignment.
5. Bring the member one step closer to its target, and answer.

Nothing is changed before all checks have passed.
"""

from dataclasses import replace
from typing import NamedTuple, TypeVar

from broker_lite.coordinator import group_changes
from broker_lite.coordinator.consumer import changes
from broker_lite.coordinator.consumer.checks import (
    check_epoch,
    check_memory,
    check_size,
    known_member,
    known_static_member,
)
from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.consumer.leave import leave
from broker_lite.coordinator.consumer.member import (
    STATIC_LEAVE_EPOCH,
    Assigned,
    ConsumerMember,
)
from broker_lite.coordinator.consumer.reconcile import Owned, Reconciliation, reconcile
from broker_lite.coordinator.consumer.regexes import (
    drop_unused_regex,
    is_refresh_due,
    prepared,
    refresh_regexes,
    update_regex,
)
from broker_lite.coordinator.consumer.target import subscribed_ids, update_target
from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.group_history import shown
from broker_lite.coordinator.texts import cut
from broker_lite.errors import BrokerError, UnreleasedInstanceId
from broker_lite.wire import messages

Field = TypeVar("Field")


class Admission(NamedTuple):
    """The member that sent a request.

    Attributes:
        member: its state before the request; a new member is empty.
        is_new: whether no record of it was written yet.
        replaced: the member with the same instance id that it replaces, None if there is none.
    """

    member: ConsumerMember
    is_new: bool = False
    replaced: ConsumerMember | None = None


def handle(
    group: ConsumerGroup,
    request: messages.ConsumerGroupHeartbeatRequest,
    caller: Caller,
    effects: Effects,
    now_ms: int,
) -> bool:
    """Answer a ConsumerGroupHeartbeat that `check_heartbeat` accepted.

    Returns:
        False if it is refused; then nothing has changed.

    See: G-79 to G-90.
    """
    try:
        if request.member_epoch < 0:
            response = leave(group, request, effects, now_ms)
        else:
            response = _heartbeat(group, request, caller, effects, now_ms)
    except BrokerError as error:
        response = messages.ConsumerGroupHeartbeatResponse(
            error_code=error.code, error_message=cut(error.message)
        )
    effects.reply(caller.token, response)
    return not response.error_code


def _heartbeat(
    group: ConsumerGroup,
    request: messages.ConsumerGroupHeartbeatRequest,
    caller: Caller,
    effects: Effects,
    now_ms: int,
) -> messages.ConsumerGroupHeartbeatResponse:
    """Update a member from its heartbeat, and return the response with its assignment.

    Raises:
        BrokerError: the heartbeat is refused; nothing has changed.

    Rule: G-83, G-84, G-86 to G-88 (GroupMetadataManager.consumerGroupHeartbeat).
    See: G-81 to G-90.
    """
    owned = _owned(request.topic_partitions)
    admission = admit(group, request, owned)
    updated = _updated(admission.member, request, caller)
    check_memory(group, updated, group.settings)
    regex = updated.regex
    if regex and regex != admission.member.regex and not group.roster.subscribers_of_regex(regex):
        prepared(regex, group.topics).check()
    member = advance(group, admission, updated, owned, effects, now_ms)
    group.start_session(member, now_ms)
    is_full_request = request.member_epoch == 0 or (
        request.rebalance_timeout_ms != -1
        and owned is not None
        and (
            request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        )
    )
    shows_assignment = is_full_request or member.assigned != admission.member.assigned
    response = messages.ConsumerGroupHeartbeatResponse
    return response(
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        heartbeat_interval_ms=group.settings.consumer_heartbeat_interval_ms,
        assignment=_assignment(response, member.assigned) if shows_assignment else None,
    )


def admit(
    group: ConsumerGroup, request: messages.ConsumerGroupHeartbeatRequest, owned: Owned
) -> Admission:
    """Return the member of a heartbeat, or a new one if the sender may join.

    Rule: G-83 (getOrMaybeSubscribe...ConsumerGroupMember).
    See: G-81, G-82.
    """
    check_size(group, request.member_id, group.settings)
    member_id = request.member_id or group.new_member_id()
    instance_id = request.instance_id
    if request.member_epoch != 0:
        member = (
            known_member(group, member_id)
            if instance_id is None
            else known_static_member(group, member_id, instance_id)
        )
        check_epoch(member, request.member_epoch, owned)
        return Admission(member)
    holder_id = None if instance_id is None else group.roster.static_members.get(instance_id)
    if holder_id is not None:
        return _take_place(group.roster.members[holder_id], member_id)
    known = group.roster.members.get(member_id)
    if known is not None:
        return Admission(known)
    return Admission(ConsumerMember(member_id=member_id), is_new=True)


def _take_place(holder: ConsumerMember, member_id: str) -> Admission:
    if holder.classic is None and holder.member_epoch != STATIC_LEAVE_EPOCH:
        raise UnreleasedInstanceId(
            f"Static member {member_id} with instance id {holder.instance_id} cannot join the "
            f"group because the instance id is owned by {holder.member_id} member."
        )
    member = replace(holder, member_id=member_id, member_epoch=0, previous_member_epoch=0)
    return Admission(member, replaced=holder)


def _updated(
    member: ConsumerMember, request: messages.ConsumerGroupHeartbeatRequest, caller: Caller
) -> ConsumerMember:
    """Return the member with the fields of the request; null leaves a field unchanged.

    Rule: G-84.
    """
    if _changes_nothing(member, request, caller):
        return member
    names, timeout_ms = request.subscribed_topic_names, request.rebalance_timeout_ms
    updated = replace(
        member,
        client_id=caller.client_id,
        client_host=caller.client_host,
        instance_id=_given(request.instance_id, member.instance_id),
        rack_id=_given(request.rack_id, member.rack_id),
        server_assignor=_given(request.server_assignor, member.server_assignor),
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        topic_names=member.topic_names if names is None else tuple(sorted(set(names))),
        regex=_given(request.subscribed_topic_regex, member.regex),
        classic=None,
    )
    return member if updated == member else updated


def _given(value: Field | None, known: Field) -> Field:
    return known if value is None else value


def _changes_nothing(
    member: ConsumerMember, request: messages.ConsumerGroupHeartbeatRequest, caller: Caller
) -> bool:
    """Return whether a heartbeat changes no field of its member; most heartbeats are like that."""
    return (
        request.rebalance_timeout_ms == -1
        and request.subscribed_topic_names is None
        and request.subscribed_topic_regex is None
        and request.server_assignor is None
        and request.rack_id is None
        and request.instance_id in (None, member.instance_id)
        and member.client_id == caller.client_id
        and member.client_host == caller.client_host
        and member.classic is None
    )


def advance(
    group: ConsumerGroup,
    admission: Admission,
    updated: ConsumerMember,
    owned: Owned,
    effects: Effects,
    now_ms: int,
) -> ConsumerMember:
    """Write the changes of a member, and bring it one step closer to its target.

    Also used for members of the classic protocol.

    Args:
        group: its group.
        admission: the member before the request.
        updated: the member with its new subscription.
        owned: the partitions that it reported as owned.
        effects: gets the records.
        now_ms: the current time.

    Returns:
        The member after the step.
    """
    member = admission.member
    if admission.replaced is not None:
        replace_member(group, admission.replaced, member, effects)
    if admission.is_new or updated != member:
        changes.put_member(group, updated, effects)
    is_regex_changed = updated.regex != member.regex
    is_subscription_changed = updated.topic_names != member.topic_names or is_regex_changed
    if is_regex_changed:
        update_regex(group, member.regex, updated.regex, effects, now_ms)
    changed = updated.member_id if is_subscription_changed else None
    update_group_epoch(group, effects, now_ms, changed=changed)
    update_target(group, effects, now_ms)
    return reconcile_member(
        group,
        updated,
        owned,
        effects,
        now_ms,
        is_subscription_changed=is_subscription_changed,
    )


def replace_member(
    group: ConsumerGroup, old: ConsumerMember, new: ConsumerMember, effects: Effects
) -> None:
    """Replace a static member by another one, which takes over its target and its partitions.

    If the new member id belongs to a third member, that one is overwritten.

    Rule: G-83 (replaceMember).
    """
    target = group.target_of(old.member_id)
    displaced = group.roster.members.get(new.member_id)
    group_changes.drop_member(group, old.member_id, effects)
    group.cancel_timers(old.member_id)
    changes.put_member(group, new, effects)
    changes.put_target(group, new.member_id, target, effects)
    changes.put_current(group, new, effects)
    if displaced is not None:
        drop_unused_regex(group, displaced.regex, effects)


def update_group_epoch(
    group: ConsumerGroup, effects: Effects, now_ms: int, *, changed: str | None
) -> None:
    """Raise the group epoch if a subscription or the subscribed topics have changed.

    Args:
        group: the group.
        effects: of the event.
        now_ms: the time.
        changed: the member whose subscription has changed, None if none has.

    Rule: G-84, G-88 (updateSubscriptionMetadata).
    """
    if is_refresh_due(group, now_ms):
        group.is_metadata_stale = True
        group.regexes_to_match = None
    is_due = changed is not None
    if group.is_metadata_stale:
        is_due |= refresh_regexes(group, effects, now_ms)
    elif not is_due:
        return
    metadata_hash = group.topics_hash()
    if is_due or metadata_hash != group.metadata_hash:
        changes.put_group_epoch(group, group.group_epoch + 1, metadata_hash, effects)
        why = "topics changed"
        if changed is not None:
            why = f"member {shown(changed)} joined or changed its subscription"
        effects.note(group.group_id, group.group_epoch, f"new assignment: {why}")
    if group.is_metadata_stale and not group.regexes_to_match:
        group.regexes_matched_ms = now_ms
    group.is_metadata_stale = bool(group.regexes_to_match)


def reconcile_member(
    group: ConsumerGroup,
    member: ConsumerMember,
    owned: Owned,
    effects: Effects,
    now_ms: int,
    *,
    is_subscription_changed: bool,
) -> ConsumerMember:
    """Bring a member one step closer to its current target.

    Rule: G-86 (maybeReconcile).
    """
    if not is_subscription_changed and member.is_reconciled_to(group.target_epoch):
        return member
    reconciled = reconcile(
        member,
        Reconciliation(
            target_epoch=group.target_epoch,
            target=group.target_of(member.member_id),
            subscribed_ids=subscribed_ids(group, member),
            owned=owned,
            owner_of=group.roster.owner_of,
            is_subscription_changed=is_subscription_changed,
        ),
    )
    if reconciled != member:
        changes.put_current(group, reconciled, effects)
        group.follow_revocation(reconciled, now_ms)
    return reconciled


def _owned(
    topic_partitions: "list[messages.ConsumerGroupHeartbeatRequest.TopicPartitions] | None",
) -> Owned:
    if topic_partitions is None:
        return None
    owned: dict[bytes, set[int]] = {}
    for entry in topic_partitions:
        owned.setdefault(entry.topic_id, set()).update(entry.partitions)
    return owned


def _assignment(
    response: "type[messages.ConsumerGroupHeartbeatResponse]", assigned: Assigned
) -> "messages.ConsumerGroupHeartbeatResponse.Assignment":
    return response.Assignment(
        topic_partitions=[
            response.TopicPartitions(topic_id=topic_id, partitions=sorted(assigned[topic_id]))
            for topic_id in sorted(assigned)
        ]
    )
