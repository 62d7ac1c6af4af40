"""`kafka-transactions find-hanging`: find open transactions that no coordinator will end.

A transaction hangs if it is open for longer than the maximum timeout, and its coordinator has no
open transaction with the partition.
"""

import argparse
import time
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from broker_lite.client import Client, Refused, check
from broker_lite.client.admin.transaction_admin import (
    ActiveProducer,
    describe_producers,
    describe_transaction,
    list_transactions,
)
from broker_lite.client.topic_partitions import TopicPartition, name_of
from broker_lite.commands.shared.text_table import tabbed_table
from broker_lite.errors import ErrorCode, SettingsError

_PARTITIONS_MAX: Final = 500
"""Partitions per request."""
_MINUTE_MS: Final = 60_000
_COLUMNS: Final = (
    "Topic",
    "Partition",
    "ProducerId",
    "ProducerEpoch",
    "CoordinatorEpoch",
    "StartOffset",
    "LastTimestamp",
    "Duration(min)",
)


class _Open(NamedTuple):
    partition: TopicPartition
    producer: ActiveProducer


def add_find_hanging(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument("--broker-id", type=int, metavar="N", help="only replicas of this broker")
    parser.add_argument("--max-transaction-timeout", type=int, default=15, metavar="MINUTES")
    parser.add_argument("--topic", help="only this topic")
    parser.add_argument("--partition", type=int, metavar="N", help="only this partition of it")


def find_hanging(client: Client, options: argparse.Namespace) -> None:
    """Print a table of hanging transactions.

    Raises:
        SettingsError: neither a topic nor a broker is named.
        ClientError: a broker refused.
    """
    if options.topic is None and options.broker_id is None:
        raise SettingsError(
            "The `find-hanging` command requires either --topic or --broker-id to limit the scope"
            " of the search"
        )
    if options.partition is not None and options.topic is None:
        raise SettingsError("The --partition argument requires --topic to be provided")
    now_ms = time.time_ns() // 1_000_000
    longest_ms = options.max_transaction_timeout * _MINUTE_MS
    candidates = [
        each
        for each in _open_transactions(client, options)
        if now_ms - each.producer.last_timestamp > longest_ms
    ]
    rows = [
        (
            *partition,
            producer.producer_id,
            producer.producer_epoch,
            producer.coordinator_epoch,
            producer.current_txn_start_offset,
            producer.last_timestamp,
            (now_ms - producer.last_timestamp) // _MINUTE_MS,
        )
        for partition, producer in _hanging(client, candidates)
    ]
    print(*tabbed_table(_COLUMNS, rows), sep="\n")


def _open_transactions(client: Client, options: argparse.Namespace) -> Iterator[_Open]:
    for node_id, partitions in _searched(client, options).items():
        for start in range(0, len(partitions), _PARTITIONS_MAX):
            asked = partitions[start : start + _PARTITIONS_MAX]
            for partition, producers in describe_producers(client, asked, node_id=node_id):
                for producer in producers:
                    if producer.current_txn_start_offset >= 0:
                        yield _Open(partition, producer)


def _searched(client: Client, options: argparse.Namespace) -> dict[int, list[TopicPartition]]:
    """Return the partitions that the flags select, by the broker to ask."""
    by_node: dict[int, list[TopicPartition]] = {}
    for topic in client.metadata(None if options.topic is None else [options.topic]).topics:
        check(f"topic {topic.name}", topic.error_code)
        for each in topic.partitions:
            if options.partition not in (None, each.partition_index):
                continue
            asked = each.leader_id if options.broker_id is None else options.broker_id
            if asked in each.replica_nodes:
                by_node.setdefault(asked, []).append((name_of(topic), each.partition_index))
    return by_node


def _hanging(client: Client, candidates: Iterable[_Open]) -> Iterator[_Open]:
    producer_ids = {each.producer.producer_id for each in candidates}
    if not producer_ids:
        return
    listed = list_transactions(client, producer_ids=sorted(producer_ids))
    ids = {each.producer_id: each.transactional_id for each in listed}
    for each in candidates:
        transactional_id = ids.get(each.producer.producer_id)
        if transactional_id is None or each.partition not in _partitions(client, transactional_id):
            yield each


def _partitions(client: Client, transactional_id: str) -> set[TopicPartition]:
    """Return the partitions of an id's open transaction; empty if its coordinator forgot the id."""
    try:
        _, found = describe_transaction(client, transactional_id)
    except Refused as error:
        if error.code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            return set()
        raise
    return {(topic.topic, each) for topic in found.topics for each in topic.partitions}
