"""`kafka-leader-election`: elect preferred replicas as leaders, or any that are left.

Flags and output are those of kafka-leader-election.sh.
"""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from broker_lite.client import Client, check
from broker_lite.client.partition_offsets import by_topic
from broker_lite.client.topic_partitions import TopicPartition
from broker_lite.commands.kafka.json_file import member, read_partitions
from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.commands.shared.kafka_errors import exception_line
from broker_lite.errors import ClientError, ErrorCode, SettingsError
from broker_lite.wire import messages

_TYPES: Final = {"PREFERRED": 0, "UNCLEAN": 1}
_TIMEOUT_MS: Final = 60_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the tool."""
    parser.add_argument("--election-type", type=str.upper, choices=list(_TYPES), required=True)
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--topic", help="with --partition: the one partition")
    chosen.add_argument(
        "--path-to-json-file", type=Path, metavar="FILE", help="a file with partitions"
    )
    chosen.add_argument("--all-topic-partitions", action="store_true", help="all partitions")
    parser.add_argument("--partition", type=int, metavar="N", help="with --topic")
    parser.add_argument("--admin.config", dest="command_config", type=Path, help=argparse.SUPPRESS)
    add_connection(parser)


def run(options: argparse.Namespace) -> int:
    """Ask for the election and print the result of each partition."""
    if (options.topic is None) != (options.partition is None):
        raise SettingsError("--topic and --partition need each other")
    partitions = _partitions(options)
    kind = options.election_type
    with connect(options) as client:
        results = _elect(client, _TYPES[kind], partitions)
    elected = [name for name, result in results.items() if result is None]
    needless = [name for name, result in results.items() if result == ""]
    failed = {name: result for name, result in results.items() if result}
    if elected:
        names = ", ".join(elected)
        print(f"Successfully completed leader election ({kind}) for partitions {names}")
    if needless:
        print(f"Valid replica already elected for partitions {', '.join(needless)}")
    for name, result in failed.items():
        print(f"Error completing leader election ({kind}) for partition: {name}: {result}")
    if failed:
        sys.stdout.flush()
        raise ClientError(f"{len(failed)} replica(s) could not be elected")
    return 0


def _partitions(options: argparse.Namespace) -> list[TopicPartition] | None:
    """Return the chosen partitions; None means all."""
    if options.topic is not None:
        return [(options.topic, options.partition)]
    if options.path_to_json_file is None:
        return None
    found = [
        (member(entry, "topic", str), member(entry, "partition", int))
        for entry in read_partitions(options.path_to_json_file)
    ]
    if len(set(found)) < len(found):
        raise SettingsError("Replica election data contains duplicate topic partitions")
    return found


def _elect(
    client: Client, kind: int, partitions: Iterable[TopicPartition] | None
) -> dict[str, str | None]:
    """Ask for an election; return None (elected), "" (not needed) or an error by partition."""
    make = messages.ElectLeadersRequest
    asked = None
    if partitions is not None:
        asked = [
            make.TopicPartitions(topic=name, partitions=numbers)
            for name, numbers in by_topic(partitions).items()
        ]
    value = make(election_type=kind, topic_partitions=asked, timeout_ms=_TIMEOUT_MS)
    answer = client.request(value, node_id=client.controller_id())
    check("leader election", getattr(answer, "error_code", 0))
    found: dict[str, str | None] = {}
    for topic in answer.replica_election_results:
        for each in topic.partition_result:
            result: str | None = None
            if each.error_code == ErrorCode.ELECTION_NOT_NEEDED:
                result = ""
            elif each.error_code:
                result = exception_line(each.error_code, each.error_message)
            found[f"{topic.topic}-{each.partition_id}"] = result
    return found
