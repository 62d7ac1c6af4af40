"""The checks of a StreamsGroupHeartbeat that need no group, in Kafka's order.

Rule: U-06 (GroupCoordinatorService.throwIfStreamsGroupHeartbeatRequestIsUsingUnsupportedFeatures,
throwIfStreamsGroupHeartbeatRequestIsInvalid).
"""

from typing import Final

from broker_lite.coordinator.streams.bounds import (
    check_id_sizes,
    check_tag_count,
    check_topology_size,
)
from broker_lite.coordinator.streams.member import STATIC_LEAVE_EPOCH
from broker_lite.coordinator.streams.told import ToldTopology
from broker_lite.coordinator.texts import TEXT_BYTES_MAX, is_blank, is_too_long
from broker_lite.errors import InvalidRequest, StreamsInvalidTopology
from broker_lite.wire import messages

Heartbeat = messages.StreamsGroupHeartbeatRequest

_TASK_OFFSETS: Final = 1


def check_heartbeat(
    request: Heartbeat, client_id: str, version: int = 0, told: ToldTopology | None = None
) -> None:
    """Check what can be checked without knowing the group.

    Args:
        request: the decoded message.
        client_id: of its sender.
        version: of the request; the offsets of tasks are refused before version 1.
        told: its topology, if that was prepared.

    Raises:
        InvalidRequest: a field is missing, not supported, or too long for a record, or there are
            too many client tags.
        StreamsInvalidTopology: the topology is too large, or says how many partitions a changelog
            has.
    """
    _check_supported(request, version)
    _check_ids(request)
    if request.member_epoch == 0:
        _check_join(request)
    elif request.member_epoch == STATIC_LEAVE_EPOCH:
        _demand(request.instance_id is not None, "InstanceId can't be null.")
    elif request.member_epoch < STATIC_LEAVE_EPOCH:
        raise InvalidRequest(
            f"MemberEpoch is {request.member_epoch}, but must be greater than or equal to -2."
        )
    roles = (request.active_tasks, request.standby_tasks, request.warmup_tasks)
    if any(tasks is not None for tasks in roles):
        complete = all(tasks is not None for tasks in roles)
        _demand(complete, "If one task-type is non-null, all must be non-null.")
    if request.member_epoch != 0:
        _demand(request.topology is None, "Topology can only be provided when (re-)joining.")
    check_tag_count(request)
    _check_texts(request, client_id, told)
    check_id_sizes(request)


def _demand(holds: bool, text: str) -> None:
    if not holds:
        raise InvalidRequest(text)


def _check_supported(request: Heartbeat, version: int) -> None:
    if request.topology is not None:
        check_topology_size(request.topology)
    _demand(request.instance_id is None, "Static membership is not yet supported.")
    if version < _TASK_OFFSETS:
        _demand(request.task_offsets is None, "TaskOffsets are not supported yet.")
        _demand(request.task_end_offsets is None, "TaskEndOffsets are not supported yet.")
    _demand(not request.warmup_tasks, "WarmupTasks are not supported yet.")
    if request.topology is not None:
        has_regex = any(each.source_topic_regex for each in request.topology.subtopologies)
        _demand(not has_regex, "Regular expressions for source topics are not supported yet.")


def _check_ids(request: Heartbeat) -> None:
    _demand(not is_blank(request.member_id), "MemberId can't be empty.")
    _demand(not is_blank(request.group_id), "GroupId can't be empty.")
    rack_id = request.rack_id
    _demand(rack_id is None or not is_blank(rack_id), "RackId can't be empty.")


def _check_join(request: Heartbeat) -> None:
    _demand(
        request.rebalance_timeout_ms != -1, "RebalanceTimeoutMs must be provided in first request."
    )
    for name, tasks in (
        ("ActiveTasks", request.active_tasks),
        ("StandbyTasks", request.standby_tasks),
        ("WarmupTasks", request.warmup_tasks),
    ):
        _demand(tasks == [], f"{name} must be empty when (re-)joining.")
    topology = request.topology
    if topology is None:
        raise InvalidRequest("Topology must be non-null when (re-)joining.")
    for subtopology in topology.subtopologies:
        for topic in subtopology.state_changelog_topics:
            if topic.partitions != 0:
                raise StreamsInvalidTopology(
                    f"Changelog topic {topic.name} must have an undefined partition count, but it "
                    f"is set to {topic.partitions}."
                )


def _check_texts(request: Heartbeat, client_id: str, told: ToldTopology | None) -> None:
    texts = [client_id, request.group_id, request.member_id]
    texts += [request.rack_id or "", request.process_id or ""]
    texts += [text for tag in request.client_tags or () for text in (tag.key, tag.value)]
    if request.user_endpoint is not None:
        texts.append(request.user_endpoint.host)
    if told is None and request.topology is not None:
        told = ToldTopology(request.topology)
    if any(map(is_too_long, texts)) or (told is not None and told.has_long_text):
        raise InvalidRequest(f"A text has more than {TEXT_BYTES_MAX} bytes.")
