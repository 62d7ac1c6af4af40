"""`kafka-transactions`: list and describe transactions, find hanging ones, and abort them.

Flags and output are those of kafka-transactions.sh.
"""

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final

from broker_lite.client import Client, Refused
from broker_lite.client.admin.transaction_admin import (
    ActiveProducer,
    abort_in_partition,
    describe_producers,
    describe_transaction,
    list_transactions,
    terminate_transaction,
)
from broker_lite.client.topic_partitions import NO_LEADER, TopicPartition
from broker_lite.commands.kafka.hanging_transactions import add_find_hanging, find_hanging
from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.commands.shared.kafka_errors import exception_text
from broker_lite.commands.shared.text_table import tabbed_table
from broker_lite.errors import ClientError, ErrorCode, SettingsError

_NONE: Final = "None"
_PRODUCERS: Final = (
    "ProducerId",
    "ProducerEpoch",
    "LatestCoordinatorEpoch",
    "LastSequence",
    "LastTimestamp",
    "CurrentTransactionStartOffset",
)
_DESCRIPTION: Final = (
    "CoordinatorId",
    "TransactionalId",
    "ProducerId",
    "ProducerEpoch",
    "TransactionState",
    "TransactionTimeoutMs",
    "CurrentTransactionStartTimeMs",
    "TransactionDurationMs",
    "TopicPartitions",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the tool."""
    add_connection(parser)
    actions = parser.add_subparsers(dest="action", metavar="COMMAND", required=True)
    listing = actions.add_parser("list", help="list transactions")
    listing.add_argument("--duration-filter", type=int, default=-1, metavar="MS")
    listing.add_argument("--transactional-id-pattern", metavar="REGEX")
    describing = actions.add_parser("describe", help="describe a transactional id")
    describing.add_argument("--transactional-id", required=True, metavar="ID")
    producers = actions.add_parser("describe-producers", help="list the producers of a partition")
    producers.add_argument("--broker-id", type=int, metavar="N", help="ask this broker [leader]")
    _add_partition(producers)
    aborting = actions.add_parser("abort", help="abort a hanging transaction")
    _add_partition(aborting)
    for flag in ("start-offset", "producer-id", "producer-epoch", "coordinator-epoch"):
        aborting.add_argument(f"--{flag}", type=int, metavar="N")
    add_find_hanging(actions.add_parser("find-hanging", help="find hanging transactions"))
    forcing = actions.add_parser(
        "forceTerminateTransaction", help="abort the open transaction of an id"
    )
    forcing.add_argument("--transactionalId", dest="transactional_id", required=True, metavar="ID")


def run(options: argparse.Namespace) -> int:
    """Run the chosen action."""
    with connect(options) as client:
        _ACTIONS[options.action](client, options)
    return 0


def _add_partition(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--topic", required=True)
    parser.add_argument("--partition", type=int, required=True, metavar="N")


def _print(names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    print(*tabbed_table(names, rows), sep="\n")


def _list(client: Client, options: argparse.Namespace) -> None:
    found = list_transactions(
        client,
        longer_than_ms=options.duration_filter,
        pattern=options.transactional_id_pattern or None,
    )
    _print(("TransactionalId", "Coordinator", "ProducerId", "TransactionState"), found)


def _describe(client: Client, options: argparse.Namespace) -> None:
    name = options.transactional_id
    unknown = (
        f"DescribeTransactions request for transactionalId `{name}` failed because the ID could not"
        " be found"
    )
    what = f"describe transaction state of transactional-id `{name}`"
    with _explained(what, {ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: unknown}):
        coordinator_id, found = describe_transaction(client, name)
    started_ms = found.transaction_start_time_ms
    has_started = started_ms >= 0
    row = (
        coordinator_id,
        name,
        found.producer_id,
        found.producer_epoch,
        found.transaction_state,
        found.transaction_timeout_ms,
        started_ms if has_started else _NONE,
        time.time_ns() // 1_000_000 - started_ms if has_started else _NONE,
        ",".join(f"{topic.topic}-{each}" for topic in found.topics for each in topic.partitions),
    )
    _print(_DESCRIPTION, [row])


def _describe_producers(client: Client, options: argparse.Namespace) -> None:
    partition = (options.topic, options.partition)
    where = "leader" if options.broker_id is None else f"broker {options.broker_id}"
    what = f"describe producers for partition {_name(partition)} on {where}"
    rows = [
        (
            each.producer_id,
            each.producer_epoch,
            each.coordinator_epoch,
            each.last_sequence,
            each.last_timestamp,
            _NONE if each.current_txn_start_offset < 0 else each.current_txn_start_offset,
        )
        for each in _producers(client, partition, options.broker_id, what)
    ]
    _print(_PRODUCERS, rows)


def _abort(client: Client, options: argparse.Namespace) -> None:
    partition = (options.topic, options.partition)
    if options.start_offset is not None:
        what = f"validate producer state for partition {_name(partition)}"
        producers = _producers(client, partition, None, what)
        start = options.start_offset
        found = next((each for each in producers if each.current_txn_start_offset == start), None)
        if found is None:
            raise ClientError(
                "Could not find any open transactions starting at offset"
                f" {start} on partition {_name(partition)}"
            )
        identity = (found.producer_id, found.producer_epoch, found.coordinator_epoch)
    else:
        identity = _given_identity(options)
    producer_id, producer_epoch, coordinator_epoch = identity
    with _explained(f"abort transaction of producer {producer_id} in {_name(partition)}"):
        abort_in_partition(
            client,
            partition,
            node_id=_leader(client, partition),
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            # -1 means that no transaction of the producer has ended; a leader would refuse it
            coordinator_epoch=max(coordinator_epoch, 0),
        )


def _given_identity(options: argparse.Namespace) -> tuple[int, int, int]:
    """Return the producer that the flags name, for brokers without DescribeProducers.

    Raises:
        SettingsError: one of the flags is missing.
    """
    if options.producer_id is None:
        raise SettingsError(
            "The transaction to abort must be identified either with --start-offset (for brokers on"
            " 3.0 or above) or with --producer-id, --producer-epoch, and --coordinator-epoch (for"
            " older brokers)"
        )
    for flag in ("producer_epoch", "coordinator_epoch"):
        if getattr(options, flag) is None:
            raise SettingsError(f"Missing required argument --{flag.replace('_', '-')}")
    return options.producer_id, options.producer_epoch, options.coordinator_epoch


def _terminate(client: Client, options: argparse.Namespace) -> None:
    name = options.transactional_id
    with _explained(f"force terminate transactionalId {name}"):
        terminate_transaction(client, name)


def _producers(
    client: Client, partition: TopicPartition, broker_id: int | None, what: str
) -> list[ActiveProducer]:
    def ask() -> list[ActiveProducer]:
        node_id = _leader(client, partition) if broker_id is None else broker_id
        ((_, found),) = describe_producers(client, [partition], node_id=node_id)
        return found

    with _explained(what):
        return client.retry(ask)


def _leader(client: Client, partition: TopicPartition) -> int:
    """Return the leader of a partition.

    Raises:
    Refused: the partition does not exist, or has no leader in time.
    """
    name, number = partition
    leader = client.leaders(name).get(number, NO_LEADER)
    if leader == NO_LEADER:
        raise Refused(_name(partition), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return leader


def _name(partition: TopicPartition) -> str:
    return f"{partition[0]}-{partition[1]}"


@contextmanager
def _explained(what: str, texts: Mapping[int, str] = MappingProxyType({})) -> Iterator[None]:
    """Turn a refusal into an error that says what failed; `texts` are better ones by code."""
    try:
        yield
    except Refused as error:
        reason = texts.get(error.code) or exception_text(error.code, error.message)
        raise ClientError(f"Failed to {what}: {reason}") from error


_ACTIONS: Final[Mapping[str, Callable[[Client, argparse.Namespace], None]]] = {
    "list": _list,
    "describe": _describe,
    "describe-producers": _describe_producers,
    "abort": _abort,
    "find-hanging": find_hanging,
    "forceTerminateTransaction": _terminate,
}
