"""Bounds of a StreamsGroupHeartbeat that Kafka does not have.

Each heartbeat that brings a topology is looked at whole, each new assignment looks at the ids of
all members, and each heartbeat of a member at its client tags. So all of them have to be small
enough that other clients do not wait.

A difference to Kafka: a topology with more than 5,000 elements is refused (130): subtopologies,
names and configs of topics, copartition groups and their indexes together.

A difference to Kafka: ids of members, processes and subtopologies of streams groups that have more
than 250 characters are refused (42).

A difference to Kafka: a heartbeat to a streams group with more than 1,000 client tags is refused
(42).

See: U-06, U-12.
"""

from typing import Final

from broker_lite.errors import InvalidRequest, StreamsInvalidTopology
from broker_lite.wire import messages

ELEMENTS_MAX: Final = 5_000
"""The most elements of a topology."""
ID_CHARACTERS_MAX: Final = 250
"""The longest id: its Java hash is computed in Python, character by character."""
TAGS_MAX: Final = 1_000
"""The most client tags: they are sorted, counted in bytes and written, in 3 ms for so many."""


def check_topology_size(topology: "messages.StreamsGroupHeartbeatRequest.Topology") -> None:
    """Demand that a topology is small enough; this comes before anything else looks at it.

    Raises:
        StreamsInvalidTopology: it has too many elements.
    """
    count = 0
    for each in topology.subtopologies:
        count += _elements(each)
        if count > ELEMENTS_MAX:
            raise StreamsInvalidTopology(
                f"The topology has more than {ELEMENTS_MAX} subtopologies, topics, configs, and "
                "indexes of copartition groups."
            )


def _elements(subtopology: "messages.StreamsGroupHeartbeatRequest.Subtopology") -> int:
    names = (
        subtopology.source_topics,
        subtopology.source_topic_regex,
        subtopology.repartition_sink_topics,
    )
    topics = (*subtopology.state_changelog_topics, *subtopology.repartition_source_topics)
    return (
        1
        + sum(map(len, names))
        + sum(1 + len(each.topic_configs) for each in topics)
        + sum(
            1
            + len(each.source_topics)
            + len(each.source_topic_regex)
            + len(each.repartition_source_topics)
            for each in subtopology.copartition_groups
        )
    )


def check_id_sizes(request: messages.StreamsGroupHeartbeatRequest) -> None:
    """Demand that the ids of the member, of its process and of subtopologies are short enough.

    Raises:
        InvalidRequest: one of them is not.
    """
    ids = [("MemberId", request.member_id), ("ProcessId", request.process_id or "")]
    if request.topology is not None:
        ids += [("SubtopologyId", each.subtopology_id) for each in request.topology.subtopologies]
    for name, text in ids:
        if len(text) > ID_CHARACTERS_MAX:
            raise InvalidRequest(f"{name} has more than {ID_CHARACTERS_MAX} characters.")


def check_tag_count(request: messages.StreamsGroupHeartbeatRequest) -> None:
    """Demand that there are few enough client tags; this comes before anything looks at each.

    Raises:
        InvalidRequest: there are too many.
    """
    if len(request.client_tags or ()) > TAGS_MAX:
        raise InvalidRequest(f"ClientTags has more than {TAGS_MAX} entries.")
