"""Which partitions the instances of an application have in their stores (interactive queries).

A difference to Kafka: while topics of the topology are missing, members with an endpoint are told
with the partitions that there are. Kafka refuses their heartbeats with -1.

A difference to Kafka: the answer to a StreamsGroupHeartbeat tells at most 20,000 topics and
partitions of tasks, where each endpoint counts as four, and hosts of 1,000,000 characters together.
A member with more than is left is not told.

Rule: U-11 (EndpointToPartitionsManager).
"""

from collections.abc import Iterator
from typing import Final

from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.coordinator.streams.member import StreamsMember
from broker_lite.coordinator.streams.tasks import AnyTasks, AssignedTasks
from broker_lite.wire import messages

ELEMENTS_MAX: Final = 20_000
"""The most topics and partitions in an answer: 1 ms for few topics, 15 ms for 10,000 of them."""
ENDPOINT_ELEMENTS: Final = 4
"""What an endpoint counts: it takes as long as four partitions, also if its member has no task."""
HOST_CHARACTERS_MAX: Final = 1_000_000
"""The most characters of hosts in an answer: 1.5 ms for ASCII, up to 5 ms for other characters."""

_Answer = messages.StreamsGroupHeartbeatResponse


def partitions_by_endpoint(
    group: StreamsGroup,
) -> "list[messages.StreamsGroupHeartbeatResponse.EndpointToPartitions]":
    """Return the endpoints of members that have one, with the partitions of their tasks.

    Members with so many, or with so long a host, that they do not fit into the answer are left out.
    """
    found, elements_left, characters_left = [], ELEMENTS_MAX, HOST_CHARACTERS_MAX
    for member in group.roster.members.values():
        endpoint = member.user_endpoint
        if endpoint is None:
            continue
        count = ENDPOINT_ELEMENTS + _elements_max(group, member.assigned)
        if count > elements_left or len(endpoint.host) > characters_left:
            continue
        elements_left -= count
        characters_left -= len(endpoint.host)
        told = _Answer.Endpoint(host=endpoint.host, port=endpoint.port)
        found.append(_of_member(group, member, told))
    return found


def _elements_max(group: StreamsGroup, assigned: AssignedTasks) -> int:
    """Return how many topics and partitions a member has at most, without looking at topics."""
    inputs_of = group.maps.inputs_of
    return sum(
        len(inputs_of.get(key, ())) * (1 + len(some))
        for tasks in (assigned.active, assigned.standby)
        for key, some in tasks.items()
    )


def _of_member(
    group: StreamsGroup,
    member: StreamsMember,
    endpoint: "messages.StreamsGroupHeartbeatResponse.Endpoint",
) -> "messages.StreamsGroupHeartbeatResponse.EndpointToPartitions":
    return _Answer.EndpointToPartitions(
        user_endpoint=endpoint,
        active_partitions=_entries(group, member.assigned.active),
        standby_partitions=_entries(group, member.assigned.standby),
    )


def _entries(
    group: StreamsGroup, tasks: AnyTasks
) -> "list[messages.StreamsGroupHeartbeatResponse.TopicPartition]":
    found = input_partitions(group, tasks)
    return [_Answer.TopicPartition(topic=name, partitions=some) for name, some in found]


def input_partitions(group: StreamsGroup, tasks: AnyTasks) -> Iterator[tuple[str, list[int]]]:
    """Iterate over the topics that tasks read, with the partitions of each.

    Of a topic with fewer partitions than tasks these are the first tasks, as in Kafka.
    """
    inputs_of = group.maps.inputs_of
    for key in sorted(tasks.keys() & inputs_of.keys()):
        indexes = sorted(tasks[key])
        for name in inputs_of[key]:
            topic = group.topics.get(name)
            if topic is not None:
                yield name, indexes[: topic.partition_count]
