"""A streams group as the control API tells it: its topology, and who runs which task."""

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from broker_lite.coordinator.streams.ahead import SeenTopics
from broker_lite.coordinator.streams.configured import ConfiguredTopology, configure_in_steps
from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.coordinator.streams.member import StreamsMember
from broker_lite.coordinator.streams.tasks import AnyTasks, TaskSets
from broker_lite.coordinator.streams.topology import Subtopology, Topology
from broker_lite.errors import BrokerError
from broker_lite.testbench.turns import Turns

Tasks = dict[str, list[int]]
"""Partitions by subtopology."""

MEMBERS_MAX: Final = 1000
_KEPT_MAX: Final = 8
"""So many configured topologies are kept: each has up to 5,000 elements."""


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
        members: sorted by id, at most as many as were asked for.
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


class _Found(NamedTuple):
    """A topology that was configured with topics of that hash; None if it is refused."""

    topology: Topology
    metadata_hash: int
    configured: ConfiguredTopology | None


class ConfiguredTopologies:
    """Topologies with their topics, of groups without a heartbeat since they were read.

    The coordinator forgets them as Kafka does, and finds them again with the next heartbeat. Until
    then they are kept here while their topics stay: to find one takes up to 0.1 s.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._found: dict[str, _Found] = {}

    async def of(self, group: StreamsGroup, turns: Turns) -> ConfiguredTopology | None:
        """Return the topology of a group with its topics; others run in between.

        Returns:
            None if there is none, or it is refused: a heartbeat with it says why.
        """
        topology = group.topology
        if group.configured is not None or topology is None:
            return group.configured
        metadata_hash = group.hash_of(topology)
        found = self._found.pop(group.group_id, None)
        if found is None or found.topology is not topology or found.metadata_hash != metadata_hash:
            seen = SeenTopics(group.topics, group.maps.required_topics)
            found = _Found(topology, metadata_hash, await _configured(topology, seen, turns))
        # the one that was looked at last is the last one
        self._found[group.group_id] = found
        for group_id in [*self._found][:-_KEPT_MAX]:
            del self._found[group_id]
        return found.configured


async def _configured(
    topology: Topology, topics: SeenTopics, turns: Turns
) -> ConfiguredTopology | None:
    steps = configure_in_steps(topology, topics)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            found: ConfiguredTopology = done.value
            return found
        except BrokerError:
            return None
        await turns.next()


async def streams_view(
    group: StreamsGroup,
    topologies: ConfiguredTopologies,
    *,
    after: str = "",
    limit: int = MEMBERS_MAX,
) -> StreamsView:
    """Return a streams group; others run in between.

    Numbers are of one time; a member that is told is as it is when its turn comes.

    Args:
        group: the group.
        topologies: those that no heartbeat has configured.
        after: only members with ids behind this one.
        limit: at most so many members.
    """
    turns = Turns()
    topology = group.topology
    configured = await topologies.of(group, turns)
    subtopologies = await _subtopologies(topology, configured, turns)
    counts = [each.tasks for each in subtopologies if each.tasks is not None]
    problem = None if configured is None else configured.problem
    members = group.roster.members
    assigned = [member.assigned for member in members.values()]
    view = StreamsView(
        group=group.group_id,
        state=group.state.value,
        epoch=group.group_epoch,
        target_epoch=group.target_epoch,
        topology_epoch=None if topology is None else topology.epoch,
        problem="" if problem is None else problem.code.name,
        detail="" if problem is None else problem.detail,
        missing=[] if configured is None else [each.name for each in configured.missing],
        standby_count=group.settings.streams_standby_count,
        subtopologies=subtopologies,
        members_count=len(assigned),
        members=[],
        tasks=sum(counts) if counts else None,
        active=_count(each.active for each in assigned),
        standby=_count(each.standby for each in assigned),
        warmup=_count(each.warmup for each in assigned),
    )
    ids = sorted(member_id for member_id in members if member_id > after)[:limit]
    for member in [members[member_id] for member_id in ids]:
        await turns.next()
        view.members.append(_member(member, group.target_of(member.member_id)))
    return view


def _count(tasks: Iterable[AnyTasks]) -> int:
    return sum(len(some) for each in tasks for some in each.values())


async def _subtopologies(
    topology: Topology | None, configured: ConfiguredTopology | None, turns: Turns
) -> list[SubtopologyView]:
    if topology is None:
        return []
    found = {} if configured is None else configured.subtopologies or {}
    views = []
    for each in sorted(topology.subtopologies):
        known = found.get(each.subtopology_id)
        views.append(_subtopology(each, None if known is None else known.task_count))
        await turns.next()
    return views


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
