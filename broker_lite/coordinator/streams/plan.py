"""What a heartbeat of a member that stays changes in its group, found out before anything changes.

Kafka's records of a heartbeat are written only if all of its checks pass. So the plan is made
first, from the group as it is; a check that fails leaves the group as it was.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from broker_lite.coordinator.effects import Caller
from broker_lite.coordinator.streams import target
from broker_lite.coordinator.streams.ahead import ConfiguredAhead
from broker_lite.coordinator.streams.configured import (
    ConfiguredTopology,
    Status,
    StatusCode,
)
from broker_lite.coordinator.streams.group import NOT_VALIDATED, Configs, StreamsGroup
from broker_lite.coordinator.streams.member import Endpoint, StreamsMember, size_of_member
from broker_lite.coordinator.streams.reconcile import Reconciliation, reconcile
from broker_lite.coordinator.streams.tasks import NO_TASKS, Tasks, TaskSets, contains, tasks_of
from broker_lite.coordinator.streams.told import ToldTopology
from broker_lite.coordinator.streams.topology import Topology
from broker_lite.coordinator.timers import INITIAL_DELAY
from broker_lite.errors import (
    FencedMemberEpoch,
    GroupMaxSizeReached,
    InvalidRequest,
    UnknownMemberId,
    UnknownServerError,
)
from broker_lite.wire import messages

Heartbeat = messages.StreamsGroupHeartbeatRequest


class NewEpoch(NamedTuple):
    """The next group epoch, and what it is based on."""

    metadata_hash: int
    validated_epoch: int
    configs: Configs


class Plan(NamedTuple):
    """What a heartbeat changes.

    Attributes:
        before: the member as it was; a new one has the defaults.
        member: with the data of the request.
        reconciled: after its next step.
        topology: what the group runs from now on.
        brought: the topology if the group has it from this member.
        configured: the topology with its topics.
        epoch: the next group epoch, None if this one goes on.
        delays: whether the first assignment waits for more members from now on.
        target: the target assignment, None if the last one goes on.
        statuses: what the answer tells of the group.
    """

    before: StreamsMember
    member: StreamsMember
    reconciled: StreamsMember
    topology: Topology
    brought: ToldTopology | None
    configured: ConfiguredTopology
    epoch: NewEpoch | None
    delays: bool
    target: target.NewTarget | None
    statuses: tuple[Status, ...]


def make_plan(
    group: StreamsGroup,
    request: Heartbeat,
    caller: Caller,
    now_ms: int,
    told: ToldTopology | None = None,
    ahead: ConfiguredAhead | None = None,
) -> Plan:
    """Return what a heartbeat changes.

    Args:
        group: of the request.
        request: the decoded message.
        caller: who sent it.
        now_ms: the time.
        told: the topology of the request, if that was prepared.
        ahead: the topology of the group, if that was prepared.

    Raises:
        BrokerError: the heartbeat is refused.

    Rule: U-07 (GroupMetadataManager.streamsGroupHeartbeat).
    """
    before = _admit(group, request)
    member = _updated(before, request, caller)
    if told is None and request.topology is not None:
        told = ToldTopology(request.topology)
    topology = _topology(group, told)
    brought = told if group.topology is None else None
    _check_memory(group, member, brought)
    metadata_hash, configured = _configured(group, topology, told, ahead)
    validated_epoch = NOT_VALIDATED
    if configured.is_ready:
        validated_epoch = topology.epoch
        _check_tasks(configured, request)
    is_known = before.member_id in group.roster.members
    configs = group.assignment_configs()
    new = NewEpoch(metadata_hash, validated_epoch, configs)
    old = NewEpoch(group.metadata_hash, group.validated_epoch, group.last_configs)
    is_next = not is_known or member != before or new != old
    group_epoch = group.group_epoch + is_next
    statuses = _stale(group, member)
    delays = not group.roster.members and group.settings.streams_initial_rebalance_delay_ms > 0
    delay = target.why_delayed(group, group_epoch, now_ms)
    if delays and delay is None:
        delay = target.INITIAL
    if delay is not None:
        statuses.append(delay)
    found = None
    if delay is None and group.target_epoch < group_epoch:
        members = {**group.roster.members, member.member_id: member}
        found = target.compute(group, group_epoch, members, configured, configs)
    reconciled = _reconciled(group, member, request, found, delay)
    return Plan(
        before,
        member,
        reconciled,
        topology,
        brought,
        configured,
        new if is_next else None,
        delays and not group.timers.is_set(INITIAL_DELAY, ""),
        found,
        tuple(statuses),
    )


def _admit(group: StreamsGroup, request: Heartbeat) -> StreamsMember:
    """Return the member of a heartbeat, or a new one if the sender may join.

    Rule: U-08 (GroupMetadataManager.getOrMaybeCreateDynamicStreamsGroupMember).
    """
    members, member_id, epoch = group.roster.members, request.member_id, request.member_epoch
    if epoch == 0:
        size_max = group.settings.streams_size_max
        if len(members) >= size_max:
            raise GroupMaxSizeReached(
                f"The streams group has reached its maximum capacity of {size_max} members."
            )
        return members.get(member_id, StreamsMember(member_id=member_id))
    member = members.get(member_id)
    if member is None:
        raise UnknownMemberId(f"Member {member_id} is not a member of group {group.group_id}.")
    if epoch != member.member_epoch and not _repeats(member, request):
        is_greater = epoch > member.member_epoch
        raise FencedMemberEpoch(
            f"The streams group member has a {'greater' if is_greater else 'smaller'} member epoch "
            f"({epoch}) than the one known by the group coordinator ({member.member_epoch}). The "
            "member must abandon all its partitions and rejoin."
        )
    return member


def _repeats(member: StreamsMember, request: Heartbeat) -> bool:
    """Return whether the member did not get the last answer, and has nothing that it may not."""
    epoch, assigned = request.member_epoch, member.assigned
    return (
        epoch < member.member_epoch
        and epoch == member.previous_member_epoch
        and contains(assigned.active, request.active_tasks)
        and contains(assigned.standby, request.standby_tasks)
        and contains(assigned.warmup, request.warmup_tasks)
    )


def _updated(member: StreamsMember, request: Heartbeat, caller: Caller) -> StreamsMember:
    """Return the member with the fields of the request; null leaves a field unchanged."""
    changes: dict[str, Any] = {
        "client_id": caller.client_id,
        "client_host": caller.client_host,
    }
    if request.rack_id is not None:
        changes["rack_id"] = request.rack_id
    if request.rebalance_timeout_ms != -1:
        changes["rebalance_timeout_ms"] = request.rebalance_timeout_ms
    if request.topology is not None:
        changes["topology_epoch"] = request.topology.epoch
    if request.process_id is not None:
        changes["process_id"] = request.process_id
    if request.user_endpoint is not None:
        endpoint = request.user_endpoint
        changes["user_endpoint"] = Endpoint(endpoint.host, endpoint.port)
    if request.client_tags is not None:
        tags = {tag.key: tag.value for tag in request.client_tags}
        if len(tags) < len(request.client_tags):
            raise UnknownServerError
        changes["client_tags"] = tuple(sorted(tags.items()))
    return replace(member, **changes)


def _topology(group: StreamsGroup, told: ToldTopology | None) -> Topology:
    """Return the topology that the group runs: its own, or else that of the request.

    Rule: U-10 (GroupMetadataManager.maybeUpdateTopology).
    """
    known = group.topology
    if told is None:
        if known is None:
            raise UnknownServerError
        return known
    topology = told.topology
    if topology.epoch < 0 or len(topology.by_id()) < len(topology.subtopologies):
        raise UnknownServerError
    if known is None:
        return topology
    if known.epoch <= topology.epoch and not known.is_same(topology):
        raise InvalidRequest("Topology updates are not supported yet.")
    return known


def _check_memory(group: StreamsGroup, member: StreamsMember, brought: ToldTopology | None) -> None:
    old = group.roster.members.get(member.member_id)
    more_bytes = size_of_member(member) - (0 if old is None else size_of_member(old))
    if brought is not None:
        more_bytes += brought.size_bytes
    group.roster.held.demand(more_bytes, group.settings.held_bytes_max)


def _configured(
    group: StreamsGroup,
    topology: Topology,
    told: ToldTopology | None,
    ahead: ConfiguredAhead | None,
) -> tuple[int, ConfiguredTopology]:
    """Return the hash of the topics, and the topology with them: found again if they changed."""
    configured = group.configured
    if configured is not None and group.is_configured:
        return group.metadata_hash, configured
    if ahead is None or ahead.topology is not topology:
        # Another member may have brought the group the same topology since this one was prepared.
        if told is not None and told.topology == topology:
            ahead = told.ahead
        else:
            ahead = ConfiguredAhead(topology, group.maps.required_topics)
    metadata_hash = ahead.hash_of(group.topics)
    is_changed = group.topology is None or metadata_hash != group.metadata_hash
    if configured is None or is_changed:
        configured = ahead.configure(group.topics, metadata_hash)
    return metadata_hash, configured


def _check_tasks(configured: ConfiguredTopology, request: Heartbeat) -> None:
    """Demand that the tasks that a member has are tasks of the topology.

    Rule: U-14 (GroupMetadataManager.throwIfRequestContainsInvalidTasks).
    """
    subtopologies = configured.subtopologies or {}
    for tasks in (request.active_tasks, request.standby_tasks, request.warmup_tasks):
        for each in tasks or ():
            subtopology = subtopologies.get(each.subtopology_id)
            if subtopology is None:
                raise InvalidRequest(
                    f"Subtopology {each.subtopology_id} does not exist in the topology."
                )
            count = subtopology.task_count
            for index in each.partitions:
                if not 0 <= index < count:
                    raise InvalidRequest(
                        f"Task {index} for subtopology {each.subtopology_id} is invalid. Number of "
                        f"tasks for this subtopology: {count}"
                    )


def _stale(group: StreamsGroup, member: StreamsMember) -> list[Status]:
    if group.topology is None or member.topology_epoch >= group.topology.epoch:
        return []
    detail = (
        f"The member's topology epoch {member.topology_epoch} is behind the group's topology epoch "
        f"{group.topology.epoch}."
    )
    return [Status(StatusCode.STALE_TOPOLOGY, detail)]


def _reconciled(
    group: StreamsGroup,
    member: StreamsMember,
    request: Heartbeat,
    found: target.NewTarget | None,
    delay: Status | None,
) -> StreamsMember:
    """Return the member after its next step towards the target; it has none during the delay."""
    epoch, wanted = group.target_epoch, group.target_of(member.member_id)
    if found is not None:
        epoch, wanted = found.epoch, found.targets[member.member_id]
    elif delay == target.INITIAL:
        wanted = NO_TASKS
    owned = None
    if request.active_tasks is not None:
        owned = TaskSets(
            _owned(request.active_tasks),
            _owned(request.standby_tasks or ()),
            _owned(request.warmup_tasks or ()),
        )
    return reconcile(member, Reconciliation(epoch, wanted, owned, group.roster))


def _owned(entries: "Sequence[messages.StreamsGroupHeartbeatRequest.TaskIds]") -> Tasks:
    """Return the tasks that a member reports in one role; Kafka fails if an id comes twice."""
    tasks = tasks_of(entries)
    if len(tasks) < len(entries):
        raise UnknownServerError
    return tasks
