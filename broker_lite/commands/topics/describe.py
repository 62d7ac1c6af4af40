"""Prints the output of `broker-lite topics --describe`: lines for topics and partitions."""

from __future__ import annotations

import argparse
import base64
import binascii
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from broker_lite.client import Client, check
from broker_lite.client.topic_partitions import name_of
from broker_lite.commands.configs.entries import DEFAULT_CONFIG, TOPIC, Entry, describe_configs
from broker_lite.errors import ClientError, SettingsError
from broker_lite.wire import messages

if TYPE_CHECKING:  # a broker that tells of eligible leaders gives the second of each
    _Topic = (
        messages.MetadataResponse.MetadataResponseTopic
        | messages.DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
    )
    _Partition = (
        messages.MetadataResponse.MetadataResponsePartition
        | messages.DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition
    )

_DESCRIBE_TOPIC_PARTITIONS: Final = 75
_UUID_BYTES: Final = 16
_MIN_ISR: Final = "min.insync.replicas"
_PARTITION_FILTERS: Final[Mapping[str, tuple[str, Callable[[_Partition, int], bool]]]] = {
    "under_replicated_partitions": (
        "only partitions with replicas that lag behind",
        lambda partition, _min_isr: len(partition.isr_nodes) < len(partition.replica_nodes),
    ),
    "unavailable_partitions": (
        "only partitions without a leader",
        lambda partition, _min_isr: partition.leader_id < 0,
    ),
    "under_min_isr_partitions": (
        "only partitions with fewer replicas in sync than min.insync.replicas",
        lambda partition, min_isr: len(partition.isr_nodes) < min_isr,
    ),
    "at_min_isr_partitions": (
        "only partitions with as many replicas in sync as min.insync.replicas",
        lambda partition, min_isr: len(partition.isr_nodes) == min_isr,
    ),
}


def add_describe_filters(parser: argparse.ArgumentParser) -> None:
    """Add the flags that filter the output of --describe."""
    for name, (text, _) in _PARTITION_FILTERS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=text)
    parser.add_argument(
        "--topics-with-overrides", action="store_true", help="only topics with configs of their own"
    )
    parser.add_argument(
        "--partition-size-limit-per-response",
        type=int,
        default=2000,
        metavar="COUNT",
        help="how many partitions to ask for at a time [2000]",
    )


def describe(
    client: Client,
    topics: Sequence[messages.MetadataResponse.MetadataResponseTopic],
    options: argparse.Namespace,
) -> None:
    """Print topics, as far as the filters select them.

    Args:
        client: of the cluster.
        topics: those to print.
        options: with what add_describe_filters() adds.
    """
    filters = [keep for name, (_, keep) in _PARTITION_FILTERS.items() if getattr(options, name)]
    names = [name_of(topic) for topic in topics]
    if not names:
        return
    configs = describe_configs(client, [(TOPIC, name) for name in names])
    described: Iterable[_Topic] = topics
    if _DESCRIBE_TOPIC_PARTITIONS in client.connection().versions:
        described = _asked_by_page(client, names, options.partition_size_limit_per_response)
    for topic in described:
        check(f"topic {topic.name}", topic.error_code)
        name = name_of(topic)
        entries = configs[TOPIC, name]
        own = [entry for entry in entries if entry.config_source != DEFAULT_CONFIG]
        if not filters and (own or not options.topics_with_overrides):
            print(_topic_line(topic, own))
        if options.topics_with_overrides:
            continue
        min_isr = next((int(each.value or 1) for each in entries if each.name == _MIN_ISR), 1)
        partitions: Iterable[_Partition] = topic.partitions
        for partition in sorted(partitions, key=lambda each: each.partition_index):
            if not filters or any(keep(partition, min_isr) for keep in filters):
                print(_partition_line(name, partition))


def by_id(
    topics: Iterable[messages.MetadataResponse.MetadataResponseTopic], text: str, *, if_exists: bool
) -> list[messages.MetadataResponse.MetadataResponseTopic]:
    """Choose the topic that has an id.

    Args:
        topics: of the cluster.
        text: the id as Kafka prints it.
        if_exists: whether none is fine.

    Raises:
        SettingsError: the text is not an id.
        ClientError: no topic has it.
    """
    try:
        wanted = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        wanted = b""
    if len(wanted) != _UUID_BYTES:
        raise SettingsError(f"--topic-id {text}: not the id of a topic")
    found = [topic for topic in topics if bytes(topic.topic_id) == wanted]
    if not found and not if_exists:
        raise ClientError(f"TopicId '{text}' does not exist as expected")
    return found


def _asked_by_page(
    client: Client, names: Iterable[str], page_size: int
) -> list[messages.DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic]:
    """Ask for topics with the eligible leaders of their partitions; sorted by name."""
    request = messages.DescribeTopicPartitionsRequest
    wanted = sorted(names)
    found: dict[
        str | None, messages.DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
    ] = {}
    cursor = None
    while True:
        value = request(
            topics=[request.TopicRequest(name=name) for name in wanted],
            cursor=cursor,
            response_partition_limit=page_size,
        )
        answer = client.request(value)
        for topic in answer.topics:
            if topic.name in found:
                found[topic.name].partitions += topic.partitions
            else:
                found[topic.name] = topic
        following = answer.next_cursor
        if following is None:
            return list(found.values())
        cursor = request.Cursor(
            topic_name=following.topic_name, partition_index=following.partition_index
        )
        wanted = [name for name in wanted if name >= following.topic_name]


def _topic_line(topic: _Topic, own: Iterable[Entry]) -> str:
    topic_id = base64.urlsafe_b64encode(topic.topic_id).decode().rstrip("=")
    replicas = len(topic.partitions[0].replica_nodes) if topic.partitions else 0
    configs = ",".join(f"{entry.name}={entry.value}" for entry in own)
    return (
        f"Topic: {topic.name}\tTopicId: {topic_id}\tPartitionCount: {len(topic.partitions)}"
        f"\tReplicationFactor: {replicas}\tConfigs: {configs}"
    )


def _partition_line(name: str, partition: _Partition) -> str:
    leader = "none" if partition.leader_id < 0 else partition.leader_id
    eligible = known = "N/A"
    make = messages.DescribeTopicPartitionsResponse
    if isinstance(partition, make.DescribeTopicPartitionsResponsePartition):
        eligible = _nodes(partition.eligible_leader_replicas or ())
        known = _nodes(partition.last_known_elr or ())
    return (
        f"\tTopic: {name}\tPartition: {partition.partition_index}\tLeader: {leader}"
        f"\tReplicas: {_nodes(partition.replica_nodes)}\tIsr: {_nodes(partition.isr_nodes)}"
        f"\tElr: {eligible}\tLastKnownElr: {known}"
    )


def _nodes(node_ids: Iterable[int]) -> str:
    return ",".join(map(str, node_ids))
