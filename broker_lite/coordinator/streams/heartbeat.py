"""StreamsGroupHeartbeat to an existing group: join, follow the assignment, leave.

Nothing is changed before all checks have passed. A new group forgets what Kafka does not write
down, because Kafka makes the group again from its records: the endpoint epoch, who asked for an
end, and which numbers of partitions its topics have.
"""

from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.group_history import shown
from broker_lite.coordinator.streams import changes
from broker_lite.coordinator.streams.ahead import ConfiguredAhead
from broker_lite.coordinator.streams.configured import Status, StatusCode
from broker_lite.coordinator.streams.endpoints import partitions_by_endpoint
from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.coordinator.streams.leave import leave, write_target
from broker_lite.coordinator.streams.member import LEAVE_EPOCH, StreamsMember
from broker_lite.coordinator.streams.plan import Plan, make_plan
from broker_lite.coordinator.streams.tasks import entries_of
from broker_lite.coordinator.streams.told import ToldTopology
from broker_lite.coordinator.texts import cut
from broker_lite.coordinator.timers import INITIAL_DELAY
from broker_lite.errors import BrokerError
from broker_lite.wire import messages

_Answer = messages.StreamsGroupHeartbeatResponse


def handle(
    group: StreamsGroup,
    request: messages.StreamsGroupHeartbeatRequest,
    caller: Caller,
    effects: Effects,
    now_ms: int,
    *,
    takes_place: bool = False,
    told: ToldTopology | None = None,
    ahead: ConfiguredAhead | None = None,
) -> None:
    """Answer a StreamsGroupHeartbeat that `check_heartbeat` accepted.

    If it is refused, nothing has changed.

    Args:
        group: of the request.
        request: the decoded message.
        caller: who sent it.
        effects: of the event.
        now_ms: the time.
        takes_place: whether the group is new, and takes the place of a classic group; then the
            first answer has its endpoint epoch, as in Kafka.
        told: the topology of the request, if that was prepared.
        ahead: the topology of the group, if that was prepared.
    """
    try:
        if request.member_epoch == LEAVE_EPOCH:
            response = leave(group, request, effects)
        else:
            plan = make_plan(group, request, caller, now_ms, told, ahead)
            is_new = group.is_unwritten
            response = _carry_out(group, plan, request, effects, now_ms)
            if is_new:
                _forget(group, response, tells_epoch=takes_place)
    except BrokerError as error:
        response = refusal(error)
    effects.reply(caller.token, response)


def refusal(error: BrokerError) -> messages.StreamsGroupHeartbeatResponse:
    """Return the response of a heartbeat that is refused."""
    return _Answer(error_code=error.code, error_message=cut(error.message), status=[])


def _carry_out(
    group: StreamsGroup,
    plan: Plan,
    request: messages.StreamsGroupHeartbeatRequest,
    effects: Effects,
    now_ms: int,
) -> messages.StreamsGroupHeartbeatResponse:
    """Change the group as planned, and return the response.

    The records are in Kafka's order.
    """
    member_id = plan.member.member_id
    if member_id not in group.roster.members or plan.member != plan.before:
        changes.put_member(group, plan.member, effects)
    if plan.brought is not None:
        changes.put_topology(group, plan.brought, effects)
    group.configured, group.missing = plan.configured, plan.configured.missing
    group.is_metadata_stale = False
    if plan.epoch is not None:
        changes.put_group_epoch(group, effects, **plan.epoch._asdict())
        _note(group, plan, effects)
    if plan.delays:
        delay_ms = group.settings.streams_initial_rebalance_delay_ms
        group.timers.set(INITIAL_DELAY, "", now_ms + delay_ms)
    if plan.target is not None:
        write_target(group, plan.target, effects, now_ms)
    if plan.reconciled != plan.member:
        changes.put_current(group, plan.reconciled, effects)
        group.watch_revocation(plan.reconciled, now_ms)
    group.start_session(member_id, now_ms)
    if request.shutdown_application and group.shutdown_by is None:
        group.shutdown_by = member_id
    return _response(group, plan, request)


def _forget(
    group: StreamsGroup, response: messages.StreamsGroupHeartbeatResponse, *, tells_epoch: bool
) -> None:
    """Forget what a new group in Kafka has forgotten when it is made from its records.

    Rule: U-04 (GroupMetadataManager.getOrMaybeCreatePersistedStreamsGroup).
    """
    if not tells_epoch:
        response.endpoint_information_epoch = 0
    group.endpoint_epoch, group.shutdown_by, group.configured = 0, None, None


def _note(group: StreamsGroup, plan: Plan, effects: Effects) -> None:
    why = "topics or settings changed"
    if plan.member != plan.before:
        why = f"member {shown(plan.member.member_id)} joined or changed"
    effects.note(group.group_id, group.group_epoch, f"new assignment: {why}")


def _response(
    group: StreamsGroup, plan: Plan, request: messages.StreamsGroupHeartbeatRequest
) -> messages.StreamsGroupHeartbeatResponse:
    member = plan.reconciled
    response = _Answer(
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        heartbeat_interval_ms=group.settings.streams_heartbeat_interval_ms,
        status=[
            _Answer.Status(status_code=code, status_detail=cut(detail) or "")
            for code, detail in _statuses(group, plan)
        ],
    )
    if request.member_epoch == 0 or member.assigned != plan.before.assigned:
        _tell_tasks(response, member)
        if member.user_endpoint is not None:
            group.endpoint_epoch += 1
    if group.endpoint_epoch != request.endpoint_information_epoch:
        response.partitions_by_user_endpoint = partitions_by_endpoint(group)
    response.endpoint_information_epoch = group.endpoint_epoch
    return response


def _tell_tasks(response: messages.StreamsGroupHeartbeatResponse, member: StreamsMember) -> None:
    assigned = member.assigned
    response.active_tasks = entries_of(_Answer.TaskIds, assigned.sets().active)
    response.standby_tasks = entries_of(_Answer.TaskIds, assigned.standby)
    response.warmup_tasks = entries_of(_Answer.TaskIds, assigned.warmup)


def _statuses(group: StreamsGroup, plan: Plan) -> list[Status]:
    """Return what the answer tells of the group, in Kafka's order."""
    statuses = list(plan.statuses)
    if plan.configured.problem is not None:
        statuses.append(plan.configured.problem)
    if group.shutdown_by is not None:
        detail = (
            f"Streams group member {group.shutdown_by} encountered a fatal error and requested a "
            "shutdown for the entire application."
        )
        statuses.append(Status(StatusCode.SHUTDOWN_APPLICATION, detail))
    return statuses
