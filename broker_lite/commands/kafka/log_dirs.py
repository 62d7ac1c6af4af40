"""`kafka-log-dirs`: print the log directories of brokers, with the sizes of partitions.

Flags and output are those of kafka-log-dirs.sh: JSON in one line.
"""

import argparse
import json
from collections.abc import Collection
from typing import Any

from broker_lite.client import Client, check
from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.commands.shared.kafka_errors import exception_name
from broker_lite.errors import ClientError
from broker_lite.wire import messages


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the tool."""
    parser.add_argument(
        "--describe", action="store_true", required=True, help="print the directories"
    )
    parser.add_argument("--topic-list", default="", metavar="T,T", help="only these topics [all]")
    parser.add_argument(
        "--broker-list", default=[], type=_ids, metavar="N,N", help="only these brokers [all]"
    )
    add_connection(parser)


def run(options: argparse.Namespace) -> int:
    """Ask each broker and print one object of JSON."""
    topics = frozenset(filter(None, options.topic_list.split(",")))
    with connect(options) as client:
        known = sorted(client.nodes())
        unknown = sorted(set(options.broker_list) - set(known))
        if unknown:
            raise ClientError(
                f"ERROR: The given brokers do not exist from --broker-list: {_joined(unknown)}."
                f" Current existent brokers: {_joined(known)}"
            )
        asked = sorted(set(options.broker_list)) or known
        print("Querying brokers for log directories information")
        found = [{"broker": node, "logDirs": _directories(client, node, topics)} for node in asked]
    print(f"Received log directory information from brokers {_joined(asked)}")
    print(json.dumps({"brokers": found, "version": 1}, separators=(",", ":"), ensure_ascii=False))
    return 0


def _directories(client: Client, node: int, topics: Collection[str]) -> list[dict[str, Any]]:
    answer = client.request(messages.DescribeLogDirsRequest(topics=None), node_id=node)
    check("log directories", answer.error_code)
    return [
        {
            "partitions": [
                {
                    "partition": f"{topic.name}-{partition.partition_index}",
                    "size": partition.partition_size,
                    "offsetLag": partition.offset_lag,
                    "isFuture": partition.is_future_key,
                }
                for topic in directory.topics
                if not topics or topic.name in topics
                for partition in topic.partitions
            ],
            "error": exception_name(directory.error_code) if directory.error_code else None,
            "logDir": directory.log_dir,
        }
        for directory in answer.results
    ]


def _joined(ids: Collection[int]) -> str:
    return ",".join(map(str, ids))


def _ids(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",") if word]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a list of brokers' numbers") from None
