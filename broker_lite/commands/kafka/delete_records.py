"""`kafka-delete-records`: delete the records of partitions below an offset.

Flags and output are those of kafka-delete-records.sh. As there, a refused partition is one line of
output, and the exit code is 0.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Final

from broker_lite.client import Client
from broker_lite.client.topic_partitions import NO_LEADER, TopicPartition, find_topics
from broker_lite.commands.kafka.json_file import member, read_partitions
from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.commands.shared.kafka_errors import exception_line
from broker_lite.errors import ClientError, ErrorCode
from broker_lite.wire import messages

_TIMEOUT_MS: Final = 30_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the tool."""
    parser.add_argument(
        "--offset-json-file",
        type=Path,
        required=True,
        metavar="FILE",
        help='{"partitions": [{"topic": "t", "partition": 0, "offset": 5}], "version": 1};'
        " offset -1 is the end of the partition",
    )
    add_connection(parser)


def run(options: argparse.Namespace) -> int:
    """Ask the leader of each partition."""
    wanted = [
        (
            (member(entry, "topic", str), member(entry, "partition", int)),
            member(entry, "offset", int),
        )
        for entry in read_partitions(options.offset_json_file)
    ]
    counts = Counter(partition for partition, _ in wanted)
    twice = [f"{name}-{number}" for (name, number), count in counts.items() if count > 1]
    if twice:
        raise ClientError(
            f"Offset json file contains duplicate topic partitions: {','.join(twice)}"
        )
    with connect(options) as client:
        print("Executing records delete operation")
        results = _delete(client, dict(wanted))
        print("Records delete operation completed:")
    for (name, number), result in results.items():
        print(f"partition: {name}-{number}\t{result}")
    return 0


def _delete(client: Client, offsets: dict[TopicPartition, int]) -> dict[TopicPartition, str]:
    """Delete; return the printed result of each partition, in order."""
    results = dict.fromkeys(
        offsets, f"error: {exception_line(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)}"
    )
    topics = find_topics(client, {name for name, _ in offsets})
    by_leader: dict[int, list[TopicPartition]] = {}
    for name, number in offsets:
        leader = topics[name].leaders.get(number, NO_LEADER) if name in topics else NO_LEADER
        by_leader.setdefault(leader, []).append((name, number))
    by_leader.pop(NO_LEADER, None)
    for leader, partitions in by_leader.items():
        answer = client.request(_request(partitions, offsets), node_id=leader)
        for topic in answer.topics:
            for partition in topic.partitions:
                results[topic.name, partition.partition_index] = _result(partition)
    return results


def _request(
    partitions: list[TopicPartition], offsets: dict[TopicPartition, int]
) -> messages.DeleteRecordsRequest:
    make = messages.DeleteRecordsRequest
    topics: dict[str, list[messages.DeleteRecordsRequest.DeleteRecordsPartition]] = {}
    for name, number in partitions:
        asked = make.DeleteRecordsPartition(partition_index=number, offset=offsets[name, number])
        topics.setdefault(name, []).append(asked)
    named = [make.DeleteRecordsTopic(name=name, partitions=each) for name, each in topics.items()]
    return make(topics=named, timeout_ms=_TIMEOUT_MS)


def _result(answer: messages.DeleteRecordsResponse.DeleteRecordsPartitionResult) -> str:
    if answer.error_code:
        return f"error: {exception_line(answer.error_code)}"
    return f"low_watermark: {answer.low_watermark}"
