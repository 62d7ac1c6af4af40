"""A streams group as the control API tells it: its topology, and who runs which task."""

from collections.abc import Iterable
from itertools import islice
from typing import Final

import msgspec

from broker_lite.coordinator.streams.configured import ConfiguredTopology, configure
from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.coordinator.streams.member import StreamsMember
from broker_lite.coordinator.streams.tasks import AnyTasks, TaskSets
from broker_lite.coordinator.streams.topology import Subtopology, Topology
from broker_lite.errors import BrokerError

Tasks = dict[str, list[int]]
"""Partitions by subtopology."""

MEMBERS_MAX: Final = 1000


class SubtopologyView(msgspec.Struct, kw_only=True):
    """A part of a topology that runs as a whole.

    Attributes:
        id: of the subtopology.
        tasks: how many it has; None while its topics are not there.
        sources: the topics that it reads.
        repartition_sources: internal topics that it reads.
        repartition_sinks: internal topics that it writes, and another subtopology reads.
        changelogs: internal topics with its state.
    """

    id: str
    tasks: int | None
    sources: list[str]
    repartition_sources: list[str]
    repartition_sinks: list[str]
    changelogs: list[str]


class StreamsMemberView(msgspec.Struct, kw_only=True):
    """A member of a streams group.

    Attributes:
        id: the member id.
        instance_id: of a static member.
        process_id: members with the same one share their local state.
        client_id: as the client told it.
        host: the client's address.
        rack: of the client; None if it told none.
        endpoint: HOST:PORT for questions about its stores; None if it told none.
        epoch: of the target assignment that it has.
        topology_epoch: of the topology that it runs.
        state: stable, unrevoked_tasks while it has to give back tasks, or unreleased_tasks while
            it waits for tasks of others.
        active: the tasks that it runs.
        standby: the tasks whose state it keeps up with.
        warmup: the tasks whose state it catches up with.
        target_active: the tasks that it shall run.
        target_standby: as target_active.
        target_warmup: as target_active.
    """

    id: str
    instance_id: str | None
    process_id: str
    client_id: str
    host: str
    rack: str | None
    endpoint: str | None
    epoch: int
    topology_epoch: int
    state: str
    active: Tasks
    standby: Tasks
    warmup: Tasks
    target_active: Tasks
    target_standby: Tasks
    target_warmup: Tasks


class StreamsView(msgspec.Struct, kw_only=True):
    """A streams group with its topology and its tasks.

    Attributes:
        group: its id.
        state: in Kafka's words.
        epoch: of the group.
        target_epoch: the epoch that the target assignment was computed for.
        topology_epoch: of the topology; None before the first member.
        problem: why the topology cannot run, such as MISSING_SOURCE_TOPICS; empty if it can.
        detail: of the problem, in words.
        missing: internal topics that have to be created.
        standby_count: how many standby tasks each task with state shall have.
        subtopologies: sorted by id.
        members_count: of all members.
        members: in the order in which they joined, at most as many as were asked for.
        tasks: how many tasks there are; None while the topics of the topology are not there.
        active: how many of them run.
        standby: how many standby tasks members have.
        warmup: how many warm-up tasks members have.
    """

    group: str
    state: str
    epoch: int
    target_epoch: int
    topology_epoch: int | None
    problem: str
    detail: str
    missing: list[str]
    standby_count: int
    subtopologies: list[SubtopologyView]
    members_count: int
    members: list[StreamsMemberView]
    tasks: int | None
    active: int
    standby: int
    warmup: int


def streams_view(group: StreamsGroup, *, after: str = "", limit: int = MEMBERS_MAX) -> StreamsView:
    """Return a streams group as it is now.

    Args:
        group: the group.
        after: only members behind the one with this id.
        limit: at most so many members.
    """
    configured = _configured(group)
    subtopologies = _subtopologies(group.topology, configured)
    counts = [each.tasks for each in subtopologies if each.tasks is not None]
    problem = None if configured is None else configured.problem
    assigned = [member.assigned for member in group.roster.members.values()]
    return StreamsView(
        group=group.group_id,
        state=group.state.value,
        epoch=group.group_epoch,
        target_epoch=group.target_epoch,
        topology_epoch=None if group.topology is None else group.topology.epoch,
        problem="" if problem is None else problem.code.name,
        detail="" if problem is None else problem.detail,
        missing=[] if configured is None else [each.name for each in configured.missing],
        standby_count=group.settings.streams_standby_count,
        subtopologies=subtopologies,
        members_count=len(assigned),
        members=[
            _member(member, group.target_of(member.member_id))
            for member in islice(_behind(group, after), limit)
        ],
        tasks=sum(counts) if counts else None,
        active=_count(each.active for each in assigned),
        standby=_count(each.standby for each in assigned),
        warmup=_count(each.warmup for each in assigned),
    )


def _configured(group: StreamsGroup) -> ConfiguredTopology | None:
    """Return the topology with its topics; None if there is none, or it is refused.

    The coordinator forgets it as Kafka does, and finds it again with the next heartbeat.
    """
    if group.configured is not None or group.topology is None:
        return group.configured
    try:
        return configure(group.topology, group.topics)
    except BrokerError:
        return None  # a heartbeat with this topology is refused, and says why


def _behind(group: StreamsGroup, after: str) -> Iterable[StreamsMember]:
    """Iterate over the members behind one, in the order in which they joined."""
    members = iter(group.roster.members.values())
    if after in group.roster.members:
        for member in members:
            if member.member_id == after:
                break
    return members


def _count(tasks: Iterable[AnyTasks]) -> int:
    return sum(len(some) for each in tasks for some in each.values())


def _subtopologies(
    topology: Topology | None, configured: ConfiguredTopology | None
) -> list[SubtopologyView]:
    if topology is None:
        return []
    found = {} if configured is None else configured.subtopologies or {}
    return [
        _subtopology(
            each,
            found[each.subtopology_id].task_count if each.subtopology_id in found else None,
        )
        for each in sorted(topology.subtopologies)
    ]


def _subtopology(told: Subtopology, task_count: int | None) -> SubtopologyView:
    return SubtopologyView(
        id=told.subtopology_id,
        tasks=task_count,
        sources=sorted({*told.source_topics}),
        repartition_sources=sorted(each.name for each in told.repartition_sources),
        repartition_sinks=sorted(told.repartition_sinks),
        changelogs=sorted(each.name for each in told.changelogs),
    )


def _member(member: StreamsMember, target: TaskSets) -> StreamsMemberView:
    endpoint, assigned = member.user_endpoint, member.assigned
    return StreamsMemberView(
        id=member.member_id,
        instance_id=member.instance_id,
        process_id=member.process_id,
        client_id=member.client_id,
        host=member.client_host.lstrip("/"),
        rack=member.rack_id,
        endpoint=None if endpoint is None else f"{endpoint.host}:{endpoint.port}",
        epoch=member.member_epoch,
        topology_epoch=member.topology_epoch,
        state=member.state.name.lower(),
        active=_tasks(assigned.active),
        standby=_tasks(assigned.standby),
        warmup=_tasks(assigned.warmup),
        target_active=_tasks(target.active),
        target_standby=_tasks(target.standby),
        target_warmup=_tasks(target.warmup),
    )


def _tasks(tasks: AnyTasks) -> Tasks:
    return {key: sorted(tasks[key]) for key in sorted(tasks)}
