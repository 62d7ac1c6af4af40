"""`kafka delete-records`, with the flags and the lines of kafka-delete-records.sh."""

import json
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support.command_line import CommandLine

ERRORS = "org.apache.kafka.common.errors"


@pytest.fixture
def filled(command: CommandLine, bootstrap: str, topic: str) -> str:
    """A topic of three partitions with five records in each."""
    at = ("--bootstrap-server", bootstrap, "--topic", topic)
    command.ok("topics", *at, "--create", "--partitions", "3")
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(15):
        producer.produce(topic, b"value", partition=number % 3)
    assert producer.flush(30) == 0
    return topic


def offsets_file(folder: Path, *entries: tuple[str, int, int]) -> Path:
    """A file with an offset for each of some partitions."""
    path = folder / "offsets.json"
    rows = [dict(zip(("topic", "partition", "offset"), entry, strict=True)) for entry in entries]
    path.write_text(json.dumps({"partitions": rows, "version": 1}))
    return path


def test_records_below_offsets(
    command: CommandLine, bootstrap: str, filled: str, tmp_path: Path
) -> None:
    at = ("--bootstrap-server", bootstrap)
    file = offsets_file(
        tmp_path, (filled, 0, 2), (filled, 1, -1), (filled, 2, 9), (filled, 9, 1), ("nosuch", 0, 1)
    )
    printed = command.ok("kafka", "delete-records", *at, "--offset-json-file", str(file))
    unknown = (
        f"error: {ERRORS}.UnknownTopicOrPartitionException:"
        " This server does not host this topic-partition."
    )
    assert printed.splitlines() == [
        "Executing records delete operation",
        "Records delete operation completed:",
        f"partition: {filled}-0\tlow_watermark: 2",
        f"partition: {filled}-1\tlow_watermark: 5",
        f"partition: {filled}-2\terror: {ERRORS}.OffsetOutOfRangeException: The requested offset is"
        " not within the range of offsets maintained by the server.",
        f"partition: {filled}-9\t{unknown}",
        f"partition: nosuch-0\t{unknown}",
    ]
    earliest = command.ok("offsets", *at, "--topic", filled, "--time", "earliest")
    assert earliest.splitlines() == [f"{filled}:0:2", f"{filled}:1:5", f"{filled}:2:0"]


def test_a_partition_that_is_named_twice(command: CommandLine, tmp_path: Path) -> None:
    file = offsets_file(tmp_path, ("a", 0, 2), ("a", 0, 2), ("b", 1, 1))
    line = command.fails("kafka", "delete-records", "--offset-json-file", str(file))
    assert line == "1: Offset json file contains duplicate topic partitions: a-0"
