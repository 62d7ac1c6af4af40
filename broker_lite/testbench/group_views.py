"""A group as the control API tells it: members, assignments, committed offsets, lag."""

from typing import Final

import msgspec

from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.classic.member import ClassicGroupState
from broker_lite.coordinator.consumer.describe import describe
from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.embedded_protocol import PROTOCOL_TYPE, parse_assignment
from broker_lite.coordinator.registry import Group
from broker_lite.coordinator.share.describe import describe as describe_share
from broker_lite.coordinator.share.group import ShareGroup
from broker_lite.coordinator.streams.endpoints import input_partitions
from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.errors import NotCoordinator
from broker_lite.server.life import Life
from broker_lite.testbench.coordinated import check_coordinated
from broker_lite.testbench.group_lags import OffsetView, lags_of, share_lags_of
from broker_lite.wire import DecodeError

_DEAD: Final = "Dead"
_CLASSIC: Final = "classic"
_CONSUMER: Final = "consumer"
_SHARE: Final = "share"
_STREAMS: Final = "streams"

Assigned = dict[str, list[int]]
"""Partitions by topic."""


class MemberView(msgspec.Struct, kw_only=True):
    """A member of a group.

    Attributes:
        id: the member id.
        instance_id: of a static member.
        client_id: as the client told it.
        host: the client's address.
        epoch: of the member; the generation of a classic group.
        assigned: the partitions that it has; none while a classic group is not stable.
    """

    id: str
    instance_id: str | None
    client_id: str
    host: str
    epoch: int
    assigned: Assigned


class StepView(msgspec.Struct, kw_only=True):
    """One step of a group.

    Attributes:
        at_ms: when, by the broker's clock, in ms since 1970.
        epoch: of the group after it; the generation of a classic group.
        what: what happened, and why.
    """

    at_ms: int
    epoch: int
    what: str


class GroupSummary(msgspec.Struct, kw_only=True):
    """A group.

    Attributes:
        group: its id.
        type: classic, consumer, share or streams.
        protocol_type: what kind of group it is; "consumer" for consumers.
        state: in Kafka's words; Dead if there is no such group.
        coordinator: the broker; -1 for none.
        epoch: of the group; the generation of a classic group.
    """

    group: str
    type: str
    protocol_type: str
    state: str
    coordinator: int
    epoch: int


class GroupView(GroupSummary, kw_only=True):
    """A group with its members and offsets.

    Attributes:
        members: in the order in which they joined.
        assigned: how many partitions all members have together.
        lag: of all partitions together that are assigned or have a commit; None if nobody knows
            what is left: there are none, or one of them cannot be looked at now.
        offsets: by topic, then by partition; without those that cannot be looked at.
        history: when and why it has rebalanced since the start, the newest last; of the last 500
            steps of all groups.
    """

    members: list[MemberView]
    assigned: int
    lag: int | None
    offsets: dict[str, dict[str, OffsetView]]
    history: list[StepView]


def summary_of(life: Life, group: Group) -> GroupSummary:
    """Return what a list of groups tells of one."""
    topic = life.coordinators.groups.topic
    if isinstance(group, ConsumerGroup):
        kind, protocol_type, epoch = _CONSUMER, PROTOCOL_TYPE, group.group_epoch
    elif isinstance(group, ShareGroup):
        kind, protocol_type, epoch = _SHARE, _SHARE, group.group_epoch
    elif isinstance(group, StreamsGroup):
        kind, protocol_type, epoch = _STREAMS, _STREAMS, group.group_epoch
    else:
        kind, protocol_type = _CLASSIC, group.protocol_type or ""
        epoch = group.rebalance.generation
    return GroupSummary(
        group=group.group_id,
        type=kind,
        protocol_type=protocol_type,
        state=str(group.state.value),
        coordinator=topic.leader(topic.partition_of(group.group_id)),
        epoch=epoch,
    )


def group_of(life: Life, group_id: str) -> Group | None:
    """Return a group; None if there is none.

    Raises:
        NotCoordinator: its state cannot be read now; the text says why.
    """
    groups = life.coordinators.groups
    if not groups.topic.exists:
        return None
    check_coordinated(groups.topic, group_id)
    try:
        groups.check_loaded([group_id])
    except NotCoordinator:
        place = f"{groups.topic.name}-{groups.partition_of(group_id)}"
        text = f"{group_id!r} cannot be read: {place}, where it is, is not loaded"
        raise NotCoordinator(text) from None
    return groups.coordinator.registry.groups.get(group_id)


async def view_of(life: Life, group_id: str) -> GroupView:
    """Return a group as it is now; one that does not exist is Dead.

    Others run while the partitions are looked at: their offsets may be newer than the members.

    Raises:
        NotCoordinator: its state cannot be read now; the text says why.
    """
    group = group_of(life, group_id)
    if group is None:
        return GroupView(
            group=group_id,
            type="",
            protocol_type="",
            state=_DEAD,
            coordinator=-1,
            epoch=0,
            members=[],
            assigned=0,
            lag=None,
            offsets={},
            history=_history(life, group_id),
        )
    summary, members = summary_of(life, group), members_of(group)
    if isinstance(group, ShareGroup):
        lags = await share_lags_of(life, group)
    else:
        assigned = [
            (topic, index)
            for member in members
            for topic, some in member.assigned.items()
            for index in some
        ]
        lags = await lags_of(life, group_id, assigned)
    return GroupView(
        **msgspec.structs.asdict(summary),
        members=members,
        assigned=sum(len(some) for each in members for some in each.assigned.values()),
        lag=lags.sum,
        offsets=lags.offsets,
        history=_history(life, group_id),
    )


def _history(life: Life, group_id: str) -> list[StepView]:
    found = life.coordinators.groups.history.of(group_id)
    return [StepView(at_ms=at_ms, epoch=note.epoch, what=note.what) for at_ms, note in found]


def members_of(group: Group) -> list[MemberView]:
    """Return the members of a group, in the order in which they joined."""
    if isinstance(group, ConsumerGroup):
        return _consumers(group)
    if isinstance(group, ShareGroup):
        return _sharers(group)
    return _streams(group) if isinstance(group, StreamsGroup) else _classic(group)


def _classic(group: ClassicGroup) -> list[MemberView]:
    is_stable = group.state is ClassicGroupState.STABLE and group.protocol_type == PROTOCOL_TYPE
    return [
        MemberView(
            id=member.member_id,
            instance_id=member.instance_id,
            client_id=member.client_id,
            host=member.client_host.lstrip("/"),
            epoch=group.rebalance.generation,
            assigned=_parsed(member.assignment) if is_stable else {},
        )
        for member in group.roster.members.values()
    ]


def _parsed(assignment: bytes) -> Assigned:
    try:
        return {topic: sorted(some) for topic, some in parse_assignment(assignment)[0].items()}
    except DecodeError:
        return {}


def _consumers(group: ConsumerGroup) -> list[MemberView]:
    return [
        MemberView(
            id=member.member_id,
            instance_id=member.instance_id,
            client_id=member.client_id,
            host=member.client_host.lstrip("/"),
            epoch=member.member_epoch,
            assigned={
                each.topic_name: each.partitions for each in member.assignment.topic_partitions
            },
        )
        for member in describe(group).members
    ]


def _sharers(group: ShareGroup) -> list[MemberView]:
    return [
        MemberView(
            id=member.member_id,
            instance_id=None,
            client_id=member.client_id,
            host=member.client_host.lstrip("/"),
            epoch=member.member_epoch,
            assigned={
                each.topic_name: each.partitions for each in member.assignment.topic_partitions
            },
        )
        for member in describe_share(group).members
    ]


def _streams(group: StreamsGroup) -> list[MemberView]:
    """Return the members with the partitions that their active tasks read."""
    views = []
    for member in group.roster.members.values():
        assigned: dict[str, set[int]] = {}
        for topic, some in input_partitions(group, member.assigned.sets().active):
            assigned.setdefault(topic, set()).update(some)
        views.append(
            MemberView(
                id=member.member_id,
                instance_id=None,
                client_id=member.client_id,
                host=member.client_host.lstrip("/"),
                epoch=member.member_epoch,
                assigned={topic: sorted(some) for topic, some in assigned.items()},
            )
        )
    return views
