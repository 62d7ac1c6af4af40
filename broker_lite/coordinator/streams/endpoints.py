"""Which partitions the instances of an application have in their stores (interactive queries).

A difference to Kafka: while topics of the topology are missing, members with an endpoint are told
with the partitions that there are. Kafka refuses their heartbeats with -1.

Rule: U-11 (EndpointToPartitionsManager).
"""

from collections.abc import Iterator

from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.coordinator.streams.member import StreamsMember
from broker_lite.coordinator.streams.tasks import Tasks
from broker_lite.wire import messages

_Answer = messages.StreamsGroupHeartbeatResponse


def partitions_by_endpoint(
    group: StreamsGroup,
) -> "list[messages.StreamsGroupHeartbeatResponse.EndpointToPartitions]":
    """Return the endpoints of all members that have one, with the partitions of their tasks."""
    return [
        _of_member(group, member, _Answer.Endpoint(host=endpoint.host, port=endpoint.port))
        for member in group.roster.members.values()
        if (endpoint := member.user_endpoint) is not None
    ]


def _of_member(
    group: StreamsGroup,
    member: StreamsMember,
    endpoint: "messages.StreamsGroupHeartbeatResponse.Endpoint",
) -> "messages.StreamsGroupHeartbeatResponse.EndpointToPartitions":
    tasks = member.assigned.sets()
    return _Answer.EndpointToPartitions(
        user_endpoint=endpoint,
        active_partitions=_entries(group, tasks.active),
        standby_partitions=_entries(group, tasks.standby),
    )


def _entries(
    group: StreamsGroup, tasks: Tasks
) -> "list[messages.StreamsGroupHeartbeatResponse.TopicPartition]":
    found = input_partitions(group, tasks)
    return [_Answer.TopicPartition(topic=name, partitions=some) for name, some in found]


def input_partitions(group: StreamsGroup, tasks: Tasks) -> Iterator[tuple[str, list[int]]]:
    """Iterate over the topics that tasks read, with the partitions of each.

    Of a topic with fewer partitions than tasks these are the first tasks, as in Kafka.
    """
    subtopologies = {} if group.topology is None else group.topology.by_id()
    for key in sorted(tasks.keys() & subtopologies.keys()):
        indexes = sorted(tasks[key])
        for name in sorted(set(subtopologies[key].inputs())):
            topic = group.topics.get(name)
            if topic is not None:
                yield name, indexes[: topic.partition_count]
