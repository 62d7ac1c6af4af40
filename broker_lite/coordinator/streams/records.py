"""The records of streams groups, as Kafka 4.3 writes them to `__consumer_offsets`.

Ids and partitions are sorted, so the same state always gives the same bytes.
"""

from collections.abc import Iterable
from typing import Any, Final

from broker_lite.coordinator.group_records import STREAMS, decode, encode_key, encode_value
from broker_lite.coordinator.streams.group import Configs
from broker_lite.coordinator.streams.member import Endpoint, StreamsMember, StreamsMemberState
from broker_lite.coordinator.streams.tasks import (
    AssignedTasks,
    Epochs,
    TaskSets,
    entries_of,
    tasks_of,
)
from broker_lite.coordinator.streams.topology import Subtopology, TopicInfo, Topology, topology_of
from broker_lite.wire import messages

TOPOLOGY: Final = 23

STREAMS_RECORD_TYPES: Final = frozenset((*STREAMS, TOPOLOGY))

_CURRENT: Final = messages.StreamsGroupCurrentMemberAssignmentValue
_TOPOLOGY: Final = messages.StreamsGroupTopologyValue

# -- the group


def group_epoch_value(
    epoch: int, metadata_hash: int, validated_epoch: int, configs: Configs
) -> bytes:
    """Return the value with the group's epoch, and what it is based on."""
    message = messages.StreamsGroupMetadataValue
    value = message(
        epoch=epoch,
        metadata_hash=metadata_hash,
        validated_topology_epoch=validated_epoch,
        last_assignment_configs=[
            message.LastAssignmentConfig(key=name, value=text) for name, text in configs
        ],
    )
    return encode_value(message, value)


def configs_of(value: messages.StreamsGroupMetadataValue) -> Configs:
    """Return the settings in a group's record."""
    return tuple(sorted((each.key, each.value) for each in value.last_assignment_configs or ()))


def topology_key(group_id: str) -> bytes:
    """Return the key of the topology."""
    message = messages.StreamsGroupTopologyKey
    return encode_key(TOPOLOGY, message, message(group_id=group_id))


def topology_value(topology: Topology) -> bytes:
    """Return the value with the topology, as the client told it."""
    subtopologies = [_subtopology(each) for each in topology.subtopologies]
    return encode_value(_TOPOLOGY, _TOPOLOGY(epoch=topology.epoch, subtopologies=subtopologies))


def topology_in(data: bytes) -> Topology:
    """Return the topology in a record."""
    return topology_of(decode(_TOPOLOGY, data))


def _subtopology(told: Subtopology) -> "messages.StreamsGroupTopologyValue.Subtopology":
    return _TOPOLOGY.Subtopology(
        subtopology_id=told.subtopology_id,
        source_topics=list(told.source_topics),
        source_topic_regex=list(told.source_topic_regex),
        state_changelog_topics=[_topic(each) for each in told.changelogs],
        repartition_sink_topics=list(told.repartition_sinks),
        repartition_source_topics=[_topic(each) for each in told.repartition_sources],
        copartition_groups=[
            _TOPOLOGY.CopartitionGroup(
                source_topics=list(each.source_topics),
                source_topic_regex=list(each.source_topic_regex),
                repartition_source_topics=list(each.repartition_source_topics),
            )
            for each in told.copartition_groups
        ],
    )


def _topic(topic: TopicInfo) -> "messages.StreamsGroupTopologyValue.TopicInfo":
    return _TOPOLOGY.TopicInfo(
        name=topic.name,
        partitions=topic.partition_count,
        replication_factor=topic.replication_factor,
        topic_configs=[_TOPOLOGY.TopicConfig(key=name, value=text) for name, text in topic.configs],
    )


# -- the target assignment


def target_value(target: TaskSets) -> bytes:
    """Return the value with a member's target."""
    message = messages.StreamsGroupTargetAssignmentMemberValue
    value = message(
        active_tasks=entries_of(message.TaskIds, target.active),
        standby_tasks=entries_of(message.TaskIds, target.standby),
        warmup_tasks=entries_of(message.TaskIds, target.warmup),
    )
    return encode_value(message, value)


def target_of(data: bytes) -> TaskSets:
    """Return the target in a record."""
    value = decode(messages.StreamsGroupTargetAssignmentMemberValue, data)
    return TaskSets(
        tasks_of(value.active_tasks), tasks_of(value.standby_tasks), tasks_of(value.warmup_tasks)
    )


# -- members


def member_value(member: StreamsMember) -> bytes:
    """Return the value with a member's data."""
    message, endpoint = messages.StreamsGroupMemberMetadataValue, member.user_endpoint
    value = message(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=(
            None if endpoint is None else message.Endpoint(host=endpoint.host, port=endpoint.port)
        ),
        client_tags=[message.KeyValue(key=key, value=text) for key, text in member.client_tags],
    )
    return encode_value(message, value)


def member_of(member_id: str, data: bytes) -> StreamsMember:
    """Return the member in a record, without any tasks."""
    value = decode(messages.StreamsGroupMemberMetadataValue, data)
    endpoint = value.user_endpoint
    return StreamsMember(
        member_id=member_id,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        topology_epoch=value.topology_epoch,
        process_id=value.process_id,
        user_endpoint=None if endpoint is None else Endpoint(endpoint.host, endpoint.port),
        client_tags=tuple(sorted((each.key, each.value) for each in value.client_tags)),
    )


def current_value(member: StreamsMember) -> bytes:
    """Return the value with the epochs and tasks of a member."""
    assigned, pending = member.assigned, member.pending
    value = _CURRENT(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=member.state.value,
        active_tasks=_with_epochs(assigned.active),
        standby_tasks=entries_of(_CURRENT.TaskIds, assigned.standby),
        warmup_tasks=entries_of(_CURRENT.TaskIds, assigned.warmup),
        active_tasks_pending_revocation=_with_epochs(pending.active),
        standby_tasks_pending_revocation=entries_of(_CURRENT.TaskIds, pending.standby),
        warmup_tasks_pending_revocation=entries_of(_CURRENT.TaskIds, pending.warmup),
    )
    return encode_value(_CURRENT, value)


def _with_epochs(
    tasks: Epochs,
) -> "list[messages.StreamsGroupCurrentMemberAssignmentValue.TaskIds]":
    entries = []
    for key in sorted(tasks):
        epochs = tasks[key]
        partitions = sorted(epochs)
        entries.append(
            _CURRENT.TaskIds(
                subtopology_id=key,
                partitions=partitions,
                assignment_epochs=[epochs[partition] for partition in partitions],
            )
        )
    return entries


def current_of(member_id: str, data: bytes) -> StreamsMember:
    """Return a member with what a record says that it has; a state of a later Kafka is UNKNOWN."""
    value = decode(_CURRENT, data)
    epoch = value.member_epoch
    return StreamsMember(
        member_id=member_id,
        state=StreamsMemberState.of(value.state),
        member_epoch=epoch,
        previous_member_epoch=value.previous_member_epoch,
        assigned=AssignedTasks(
            _epochs_of(value.active_tasks, epoch),
            tasks_of(value.standby_tasks),
            tasks_of(value.warmup_tasks),
        ),
        pending=AssignedTasks(
            _epochs_of(value.active_tasks_pending_revocation, epoch),
            tasks_of(value.standby_tasks_pending_revocation),
            tasks_of(value.warmup_tasks_pending_revocation),
        ),
    )


def _epochs_of(entries: Iterable[Any], member_epoch: int) -> Epochs:
    """Return tasks with their epochs; without an epoch for each, they have that of the member."""
    found = {}
    for each in entries:
        epochs = each.assignment_epochs or ()
        if len(epochs) == len(each.partitions):
            found[each.subtopology_id] = dict(zip(each.partitions, epochs, strict=True))
        else:
            found[each.subtopology_id] = dict.fromkeys(each.partitions, member_epoch)
    return found
