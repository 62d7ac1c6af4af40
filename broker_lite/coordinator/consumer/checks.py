"""The checks of a ConsumerGroupHeartbeat, before and after its group and member are known."""

from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.consumer.member import (
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerMember,
    MemberState,
    is_same_subscription,
    size_of_subscription,
)
from broker_lite.coordinator.consumer.reconcile import Owned
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.texts import TEXT_BYTES_MAX, is_blank, is_too_long
from broker_lite.errors import (
    FencedInstanceId,
    FencedMemberEpoch,
    GroupMaxSizeReached,
    InvalidRequest,
    UnknownMemberId,
    UnsupportedAssignor,
)
from broker_lite.wire import messages


def check_heartbeat(
    request: messages.ConsumerGroupHeartbeatRequest, version: int, settings: GroupSettings
) -> None:
    """Check what can be checked without knowing the group.

    Raises:
        InvalidRequest: fields contradict each other, or one is missing.
        UnsupportedAssignor: the settings do not list the assignor.

    Rule: G-78 (GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid).
    """
    epoch = request.member_epoch
    if version > 0 or epoch > 0 or epoch == LEAVE_EPOCH:
        _require_text(request.member_id, "MemberId")
    _require_text(request.group_id, "GroupId")
    _require_text(request.instance_id, "InstanceId")
    _require_text(request.rack_id, "RackId")
    _check_epoch(request)
    assignor = request.server_assignor
    if assignor is not None and assignor not in settings.consumer_assignors:
        raise UnsupportedAssignor(
            f"ServerAssignor {assignor} is not supported. "
            f"Supported assignors: {', '.join(settings.consumer_assignors)}."
        )


def check_heartbeat_texts(request: messages.ConsumerGroupHeartbeatRequest, client_id: str) -> None:
    """Check that no text of a heartbeat is too long for a record.

    Raises:
        InvalidRequest: a text is too long.

    Rule: G-78; Kafka fails on it when it gets there.
    """
    for field, text in (
        ("ClientId", client_id),
        ("GroupId", request.group_id),
        ("MemberId", request.member_id),
        ("InstanceId", request.instance_id),
        ("RackId", request.rack_id),
    ):
        if text is not None and is_too_long(text):
            raise _too_long(field)
    names = request.subscribed_topic_names
    if names is not None and any(map(is_too_long, names)):
        raise _too_long("SubscribedTopicNames")


def _too_long(field: str) -> InvalidRequest:
    return InvalidRequest(f"{field} has more than {TEXT_BYTES_MAX} bytes.")


def _check_epoch(request: messages.ConsumerGroupHeartbeatRequest) -> None:
    epoch = request.member_epoch
    if epoch == 0:
        _require(
            request.rebalance_timeout_ms != -1,
            "RebalanceTimeoutMs must be provided in first request.",
        )
        _require(
            request.topic_partitions == [],
            "TopicPartitions must be empty when (re-)joining.",
        )
        _require(
            request.subscribed_topic_names is not None
            or request.subscribed_topic_regex is not None,
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when "
            "(re-)joining.",
        )
    elif epoch == STATIC_LEAVE_EPOCH:
        _require(request.instance_id is not None, "InstanceId can't be null.")
    else:
        _require(epoch >= LEAVE_EPOCH, "MemberEpoch is invalid.")


def _require_text(text: str | None, name: str) -> None:
    """Raise if a text is given and is blank, as Java's String.trim sees it."""
    if text is not None and is_blank(text):
        raise InvalidRequest(f"{name} can't be empty.")


def _require(is_so: bool, message: str) -> None:
    if not is_so:
        raise InvalidRequest(message)


def check_size(group: ConsumerGroup, member_id: str, settings: GroupSettings) -> None:
    """Check that there is room for a new member.

    Raises:
        GroupMaxSizeReached: the group is full, and the id is not yet that of a member.

    Rule: G-81.
    """
    size_max = settings.consumer_size_max
    if len(group.roster.members) >= size_max and member_id not in group.roster.members:
        raise GroupMaxSizeReached(
            f"The consumer group has reached its maximum capacity of {size_max} members."
        )


def check_memory(group: ConsumerGroup, member: ConsumerMember, settings: GroupSettings) -> None:
    """Check that there is memory for a member's new subscription, in place of its old one.

    Raises:
        GroupMaxSizeReached: all groups together would take more memory than they may.
    """
    old = group.roster.members.get(member.member_id)
    if old is not None and is_same_subscription(old, member):
        return
    more_bytes = size_of_subscription(member) - (0 if old is None else size_of_subscription(old))
    group.roster.held.demand(more_bytes, settings.held_bytes_max)


def known_member(group: ConsumerGroup, member_id: str) -> ConsumerMember:
    """Return the member of an id.

    Raises:
        UnknownMemberId: there is none.
    """
    member = group.roster.members.get(member_id)
    if member is None:
        raise UnknownMemberId(f"Member {member_id} is not a member of group {group.group_id}.")
    return member


def known_static_member(group: ConsumerGroup, member_id: str, instance_id: str) -> ConsumerMember:
    """Return the static member of an instance id, which must have this member id.

    Raises:
        UnknownMemberId: the instance id is not known.
        FencedInstanceId: it belongs to another member id.

    See: G-79, G-83.
    """
    known_id = group.roster.static_members.get(instance_id)
    if known_id is None:
        raise UnknownMemberId(f"Instance id {instance_id} is unknown.")
    if known_id != member_id:
        raise FencedInstanceId(
            f"Static member {member_id} with instance id {instance_id} was fenced by member "
            f"{known_id}."
        )
    return group.roster.members[known_id]


def check_epoch(member: ConsumerMember, epoch: int, owned: Owned) -> None:
    """Check the epoch that a member sends.

    The previous epoch is accepted if the member owns no partitions except those assigned to it:
    the response with the new epoch may have been lost.

    Raises:
        FencedMemberEpoch: the member has to give up its partitions and join again.

    Rule: G-82 (throwIfConsumerGroupMemberEpochIsInvalid).
    """
    if member.state is MemberState.UNKNOWN and owned != {}:
        raise FencedMemberEpoch(
            "The consumer group member is in a unknown state. The member must abandon all its "
            "partitions and rejoin."
        )
    known = member.member_epoch
    if epoch in (0, known):
        return
    if (
        epoch < known
        and epoch == member.previous_member_epoch
        and _owns_only_assigned(member, owned)
    ):
        return
    raise FencedMemberEpoch(
        f"The consumer group member has a {'greater' if epoch > known else 'smaller'} member epoch "
        f"({epoch}) than the one known by the group coordinator ({known}). The member must abandon "
        "all its partitions and rejoin."
    )


def _owns_only_assigned(member: ConsumerMember, owned: Owned) -> bool:
    if owned is None:
        return False
    return all(
        topic_id in member.assigned and partitions <= member.assigned[topic_id].keys()
        for topic_id, partitions in owned.items()
    )
