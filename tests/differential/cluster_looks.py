"""A look at everything: what each broker says of the topics, and what the leaders have of them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from broker_lite.wire import messages
from tests.differential.cluster import Clients
from tests.differential.cluster_settling import NO_LEADER, STATE_TOPICS
from tests.differential.cluster_views import PLACED, Views, batches
from tests.differential.coordinator_memory import Names
from tests.differential.coordinator_views import Plain, log_view
from tests.support.raw_client import Closed

METADATA_VERSION: Final = 13
FETCH_BYTES: Final = 1 << 20


def look(
    clients: Clients, up: Sequence[int], topics: Sequence[str], names: Names, views: Views
) -> Plain:
    """What all brokers that run say; what they agree in is told once.

    Args:
        topics: full names of those of the script.
    """
    told = {node_id: _told(clients, node_id, topics, views) for node_id in up}
    first = told[up[0]]
    view: dict[str, Plain] = {"everywhere": first}
    view |= {f"at {node_id}": other for node_id, other in told.items() if other != first}
    leaders = _leaders(clients, up[0], topics)
    for (topic, index), leader in leaders.items():
        if leader in up and PLACED not in topic:
            key = f"{names.text(topic)}-{index}"
            view[key] = _logs(clients, leader, topic, index, names)
    return view


def _told(clients: Clients, node_id: int, topics: Sequence[str], views: Views) -> Plain:
    all_topics = [*topics, *STATE_TOPICS]
    kind = messages.MetadataRequest
    metadata = kind(
        topics=[kind.MetadataRequestTopic(name=name) for name in all_topics],
        allow_auto_topic_creation=False,
    )
    describe = messages.DescribeTopicPartitionsRequest
    partitions = describe(
        topics=[describe.TopicRequest(name=name) for name in all_topics],
        response_partition_limit=2000,
    )
    brokers = messages.DescribeClusterRequest(include_fenced_brokers=True)
    return {
        "metadata": views.of(clients.ask(node_id, metadata, METADATA_VERSION)),
        "partitions": views.of(clients.ask(node_id, partitions, 0)),
        "brokers": views.of(clients.ask(node_id, brokers, 2)),
    }


def _leaders(
    clients: Clients, node_id: int, topics: Sequence[str]
) -> Mapping[tuple[str, int], int]:
    kind = messages.MetadataRequest
    request = kind(
        topics=[kind.MetadataRequestTopic(name=name) for name in topics],
        allow_auto_topic_creation=False,
    )
    answer = clients.ask(node_id, request, METADATA_VERSION)
    found = {
        (topic.name, row.partition_index): row.leader_id
        for topic in answer.topics
        for row in topic.partitions
        if row.leader_id != NO_LEADER
    }
    return dict(sorted(found.items()))


def _logs(clients: Clients, leader: int, topic: str, index: int, names: Names) -> Plain:
    """What both isolation levels see at the leader."""
    view: dict[str, Plain] = {}
    for isolation in (0, 1):
        try:
            latest = _latest(clients, leader, topic, index, isolation)
            view[f"latest {isolation}"] = [latest.error_code, latest.offset]
            start = _latest(clients, leader, topic, index, isolation, when=-2)
            row = _fetch(clients, leader, topic, index, isolation, max(start.offset, 0))
        except (Closed, TimeoutError, ConnectionRefusedError) as error:
            return type(error).__name__
        view[f"isolation {isolation}"] = {
            **log_view(row, names),
            "batches": batches(row.records),
        }
    return view


def _latest(
    clients: Clients, leader: int, topic: str, index: int, isolation: int, when: int = -1
) -> Any:
    kind = messages.ListOffsetsRequest
    partition = kind.ListOffsetsPartition(partition_index=index, timestamp=when)
    value = kind(
        replica_id=-1,
        isolation_level=isolation,
        topics=[kind.ListOffsetsTopic(name=topic, partitions=[partition])],
    )
    return clients.ask(leader, value, 5).topics[0].partitions[0]


def _fetch(
    clients: Clients, leader: int, topic: str, index: int, isolation: int, offset: int
) -> Any:
    kind = messages.FetchRequest
    partition = kind.FetchPartition(
        partition=index, fetch_offset=offset, partition_max_bytes=FETCH_BYTES
    )
    value = kind(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=FETCH_BYTES,
        isolation_level=isolation,
        topics=[kind.FetchTopic(topic=topic, partitions=[partition])],
    )
    return clients.ask(leader, value, 12).responses[0].partitions[0]
