"""Describes streams groups."""

from __future__ import annotations

from broker_lite.client.client import Client
from broker_lite.client.errors import check
from broker_lite.wire import messages

DescribedStreams = messages.StreamsGroupDescribeResponse.DescribedGroup


def describe_streams_group(client: Client, group: str) -> DescribedStreams:
    """Describe a streams group with its topology, members and tasks.

    Raises:
        Refused: there is no such streams group, or the coordinator refused.
    """

    def ask() -> DescribedStreams:
        value = messages.StreamsGroupDescribeRequest(group_ids=[group])
        (answer,) = client.request(value, node_id=client.coordinator(group)).groups
        check(f"group {group}", answer.error_code, answer.error_message)
        return answer

    return client.retry(ask)


def source_topics(group: DescribedStreams) -> set[str]:
    """Return the topics that an application reads, without internal ones."""
    found = group.topology.subtopologies if group.topology else None
    return {name for each in found or () for name in each.source_topics}


def repartition_topics(group: DescribedStreams) -> set[str]:
    """Return the internal topics that an application reads."""
    found = group.topology.subtopologies if group.topology else None
    return {topic.name for each in found or () for topic in each.repartition_source_topics}


def internal_topics(group: DescribedStreams) -> set[str]:
    """Return the internal topics of an application: what it repartitions, and its changelogs."""
    found = group.topology.subtopologies if group.topology else None
    changelogs = {topic.name for each in found or () for topic in each.state_changelog_topics}
    return repartition_topics(group) | changelogs
