"""ShareGroupHeartbeat to an existing group: join, follow the assignment, leave.

Nothing is changed before all checks have passed.

A difference to Kafka: a member that joins gets its partitions at once. Kafka answers first with an
empty assignment, until the share coordinator has written a state for each of the partitions.
"""

from dataclasses import replace

from broker_lite.coordinator import group_changes
from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.group_history import shown
from broker_lite.coordinator.share import changes
from broker_lite.coordinator.share.assign import assign_simple
from broker_lite.coordinator.share.bounds import check_subscriptions
from broker_lite.coordinator.share.group import ShareGroup
from broker_lite.coordinator.share.member import LEAVE_EPOCH, ShareMember, size_of_member
from broker_lite.coordinator.texts import TEXT_BYTES_MAX, cut, is_blank, is_too_long
from broker_lite.coordinator.timers import SESSION
from broker_lite.errors import (
    BrokerError,
    FencedMemberEpoch,
    GroupMaxSizeReached,
    InvalidRequest,
    UnknownMemberId,
)
from broker_lite.wire import messages


def check_heartbeat(request: messages.ShareGroupHeartbeatRequest, client_id: str) -> None:
    """Check what can be checked without knowing the group.

    Raises:
        InvalidRequest: a field is missing, or too long for a record.

    Rule: G-113 (GroupCoordinatorService.throwIfShareGroupHeartbeatRequestIsInvalid).
    """
    names, epoch = request.subscribed_topic_names, request.member_epoch
    if is_blank(request.member_id):
        raise InvalidRequest
    if is_blank(request.group_id):
        raise InvalidRequest("GroupId can't be empty.")
    if request.rack_id is not None and is_blank(request.rack_id):
        raise InvalidRequest("RackId can't be empty.")
    if epoch < LEAVE_EPOCH:
        raise InvalidRequest("MemberEpoch is invalid.")
    if epoch == 0 and not names:
        raise InvalidRequest("SubscribedTopicNames must be set in first request.")
    texts = (client_id, request.group_id, request.member_id, request.rack_id or "", *(names or ()))
    if any(map(is_too_long, texts)):
        raise InvalidRequest(f"A text has more than {TEXT_BYTES_MAX} bytes.")


def handle(
    group: ShareGroup,
    request: messages.ShareGroupHeartbeatRequest,
    caller: Caller,
    effects: Effects,
    now_ms: int,
) -> None:
    """Answer a ShareGroupHeartbeat that `check_heartbeat` accepted.

    If it is refused, nothing has changed.
    """
    try:
        if request.member_epoch == LEAVE_EPOCH:
            _known(group, request.member_id)
            put_out(group, request.member_id, effects)
            response = messages.ShareGroupHeartbeatResponse(
                member_id=request.member_id, member_epoch=LEAVE_EPOCH
            )
        else:
            response = _heartbeat(group, request, caller, effects, now_ms)
    except BrokerError as error:
        response = refusal(error)
    effects.reply(caller.token, response)


def refusal(error: BrokerError) -> messages.ShareGroupHeartbeatResponse:
    """Return the response of a heartbeat that is refused."""
    message = messages.ShareGroupHeartbeatResponse
    return message(error_code=error.code, error_message=cut(error.message))


def _heartbeat(
    group: ShareGroup,
    request: messages.ShareGroupHeartbeatRequest,
    caller: Caller,
    effects: Effects,
    now_ms: int,
) -> messages.ShareGroupHeartbeatResponse:
    """Update a member from its heartbeat, and return the response with its assignment.

    Raises:
        BrokerError: the heartbeat is refused; nothing has changed.

    Rule: G-113 (GroupMetadataManager.shareGroupHeartbeat).
    """
    before = _admit(group, request)
    member = _updated(before, request, caller)
    known = group.roster.members.get(member.member_id)
    more_bytes = size_of_member(member) - (0 if known is None else size_of_member(known))
    is_new_subscription = member.topic_names != before.topic_names
    if is_new_subscription:
        check_subscriptions(group, before, member)
        more_bytes += changes.missing_count(group, member.topic_names) * group.state_bytes
    group.roster.held.demand(more_bytes, group.settings.held_bytes_max)
    if member != known:
        changes.put_member(group, member, effects)
    _update_group_epoch(group, effects, changed=member.member_id if is_new_subscription else None)
    _update_target(group, effects, now_ms)
    member = _reconcile(group, member, effects)
    group.start_session(member, now_ms)
    is_full = request.member_epoch == 0 or request.subscribed_topic_names is not None
    message = messages.ShareGroupHeartbeatResponse
    return message(
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        heartbeat_interval_ms=group.settings.share_heartbeat_interval_ms,
        assignment=_assignment(member) if is_full or member.assigned != before.assigned else None,
    )


def _admit(group: ShareGroup, request: messages.ShareGroupHeartbeatRequest) -> ShareMember:
    """Return the member of a heartbeat, or a new one if the sender may join.

    Rule: K-02 (GroupMetadataManager.getOrMaybeCreateShareGroupMember).
    """
    member_id, epoch = request.member_id, request.member_epoch
    if epoch == 0:
        known = group.roster.members.get(member_id)
        if known is not None:
            return known
        size_max = group.settings.share_size_max
        if len(group.roster.members) >= size_max:
            raise GroupMaxSizeReached(
                f"The share group has reached its maximum capacity of {size_max} members."
            )
        return ShareMember(member_id=member_id)
    member = _known(group, member_id)
    if epoch not in (member.member_epoch, member.previous_member_epoch):
        is_greater = epoch > member.member_epoch
        raise FencedMemberEpoch(
            f"The share group member has a {'greater' if is_greater else 'smaller'} member epoch "
            f"({epoch}) than the one known by the group coordinator ({member.member_epoch}). The "
            "member must abandon all its partitions and rejoin."
        )
    return member


def _known(group: ShareGroup, member_id: str) -> ShareMember:
    member = group.roster.members.get(member_id)
    if member is None:
        raise UnknownMemberId(f"Member {member_id} is not a member of group {group.group_id}.")
    return member


def _updated(
    member: ShareMember, request: messages.ShareGroupHeartbeatRequest, caller: Caller
) -> ShareMember:
    """Return the member with the fields of the request; null leaves a field unchanged."""
    names = request.subscribed_topic_names
    return replace(
        member,
        client_id=caller.client_id,
        client_host=caller.client_host,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        topic_names=member.topic_names if names is None else tuple(sorted(set(names))),
    )


def _update_group_epoch(group: ShareGroup, effects: Effects, *, changed: str | None) -> None:
    """Raise the group epoch if a subscription or the subscribed topics have changed."""
    if changed is None and not group.is_metadata_stale:
        return
    metadata_hash = group.topics_hash()
    if changed is not None or metadata_hash != group.metadata_hash:
        changes.put_group_epoch(group, group.group_epoch + 1, metadata_hash, effects)
        why = "topics changed"
        if changed is not None:
            why = f"member {shown(changed)} joined or changed its subscription"
        effects.note(group.group_id, group.group_epoch, f"new assignment: {why}")
    changes.start_topics(group, effects)
    group.is_metadata_stale = False


def _update_target(group: ShareGroup, effects: Effects, now_ms: int) -> None:
    """Compute a new target assignment if the group epoch is ahead of the last one.

    If an assignment interval is set, the first heartbeat after the interval computes it.

    See: G-13.
    """
    if group.group_epoch <= group.target_epoch:
        return
    interval_ms = group.settings.share_assignment_interval_ms
    if group.target_timestamp_ms and now_ms < group.target_timestamp_ms + interval_ms:
        return
    subscriptions, counts = _assignor_view(group)
    for member_id, target in assign_simple(subscriptions, counts).items():
        if group.targets.get(member_id) != target:
            changes.put_target(group, member_id, target, effects)
    group_changes.put_target_epoch(group, group.group_epoch, now_ms, effects)


def _assignor_view(
    group: ShareGroup,
) -> tuple[dict[str, frozenset[bytes]], dict[bytes, int]]:
    """Return the topics of each member, and the number of partitions of each topic."""
    # members mostly subscribe to the same topics, which are looked up once
    by_names: dict[tuple[str, ...], frozenset[bytes]] = {}
    subscriptions: dict[str, frozenset[bytes]] = {}
    counts: dict[bytes, int] = {}
    for member in group.roster.members.values():
        topic_ids = by_names.get(member.topic_names)
        if topic_ids is None:
            found = [group.topics.get(name) for name in member.topic_names]
            topics = {topic.topic_id: topic.partition_count for topic in found if topic is not None}
            counts.update(topics)
            topic_ids = by_names[member.topic_names] = frozenset(topics)
        subscriptions[member.member_id] = topic_ids
    return subscriptions, counts


def _reconcile(group: ShareGroup, member: ShareMember, effects: Effects) -> ShareMember:
    """Give a member its target; nobody has to give anything up before.

    Rule: K-02 (ShareGroupAssignmentBuilder).
    """
    if member.member_epoch == group.target_epoch:
        return member
    reconciled = replace(
        member,
        member_epoch=group.target_epoch,
        previous_member_epoch=member.member_epoch,
        assigned=group.target_of(member.member_id),
    )
    changes.put_current(group, reconciled, effects)
    return reconciled


def _assignment(member: ShareMember) -> "messages.ShareGroupHeartbeatResponse.Assignment":
    message, assigned = messages.ShareGroupHeartbeatResponse, member.assigned
    return message.Assignment(
        topic_partitions=[
            message.TopicPartitions(topic_id=each, partitions=sorted(assigned[each]))
            for each in sorted(assigned)
        ]
    )


def put_out(group: ShareGroup, member_id: str, effects: Effects) -> None:
    """Remove a member that leaves, or whose session has ended, and raise the group epoch."""
    if member_id not in group.roster.members:
        return
    group_changes.drop_member(group, member_id, effects)
    group.timers.cancel(SESSION, member_id)
    changes.put_group_epoch(group, group.group_epoch + 1, group.topics_hash(), effects)
    what = f"new assignment: a member left or was silent for too long: {shown(member_id)}"
    effects.note(group.group_id, group.group_epoch, what)
