"""StreamsGroupDescribe: a group as an administrator sees it."""

from typing import Final

from broker_lite.coordinator.streams.configured import ConfiguredTopology
from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.coordinator.streams.member import StreamsMember
from broker_lite.coordinator.streams.tasks import TaskSets, entries_of
from broker_lite.coordinator.streams.topology import Subtopology, TopicInfo, Topology
from broker_lite.wire import messages

_Answer = messages.StreamsGroupDescribeResponse


ASSIGNOR: Final = "sticky"
"""The only assignor of streams groups."""


def describe(group: StreamsGroup) -> "messages.StreamsGroupDescribeResponse.DescribedGroup":
    """Return the group's entry of the response; the caller adds the authorized operations.

    Rule: U-23 (StreamsGroup.asDescribedGroup).
    """
    topology = None
    if group.topology is not None:
        topology = _topology(group.topology, group.configured)
    return _Answer.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.group_epoch,
        assignment_epoch=group.target_epoch,
        topology=topology,
        assignor_name=ASSIGNOR,
        members=[_member(group, member) for member in group.roster.members.values()],
    )


def _topology(
    topology: Topology, configured: ConfiguredTopology | None
) -> "messages.StreamsGroupDescribeResponse.Topology":
    """Return the topology; one that can run with the numbers of partitions that were found."""
    found = None
    if configured is not None and configured.is_ready:
        found = configured.subtopologies
    if found is None:
        entries = [
            _subtopology(each, each.changelogs, each.repartition_sources)
            for each in sorted(topology.subtopologies)
        ]
    else:
        entries = [
            _subtopology(each.told, each.changelogs, each.repartition_sources)
            for each in found.values()
        ]
    return _Answer.Topology(epoch=topology.epoch, subtopologies=entries)


def _subtopology(
    told: Subtopology,
    changelogs: tuple[TopicInfo, ...],
    repartition_sources: tuple[TopicInfo, ...],
) -> "messages.StreamsGroupDescribeResponse.Subtopology":
    return _Answer.Subtopology(
        subtopology_id=told.subtopology_id,
        source_topics=sorted(told.source_topics),
        repartition_sink_topics=sorted(told.repartition_sinks),
        state_changelog_topics=[_topic(each) for each in sorted(changelogs)],
        repartition_source_topics=[_topic(each) for each in sorted(repartition_sources)],
    )


def _topic(topic: TopicInfo) -> "messages.StreamsGroupDescribeResponse.TopicInfo":
    return _Answer.TopicInfo(
        name=topic.name,
        partitions=topic.partition_count,
        replication_factor=topic.replication_factor,
        topic_configs=[_Answer.KeyValue(key=key, value=value) for key, value in topic.configs],
    )


def _member(
    group: StreamsGroup, member: StreamsMember
) -> "messages.StreamsGroupDescribeResponse.Member":
    endpoint = member.user_endpoint
    return _Answer.Member(
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=(
            None if endpoint is None else _Answer.Endpoint(host=endpoint.host, port=endpoint.port)
        ),
        client_tags=[_Answer.KeyValue(key=key, value=text) for key, text in member.client_tags],
        assignment=_assignment(member.assigned.sets()),
        target_assignment=_assignment(group.target_of(member.member_id)),
    )


def _assignment(tasks: TaskSets) -> "messages.StreamsGroupDescribeResponse.Assignment":
    return _Answer.Assignment(
        active_tasks=entries_of(_Answer.TaskIds, tasks.active),
        standby_tasks=entries_of(_Answer.TaskIds, tasks.standby),
        warmup_tasks=entries_of(_Answer.TaskIds, tasks.warmup),
    )
