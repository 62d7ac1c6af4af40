"""Start and end of a read, in the notation of Spark's Kafka connector.

A limit is EARLIEST or LATEST, an offset or a timestamp for each partition, or one timestamp for all
partitions. In JSON, -2 is the earliest offset of a partition and -1 the latest.
"""

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, NamedTuple, TypeAlias

from broker_lite.log.timestamps import EARLIEST, LATEST

TopicPartition: TypeAlias = tuple[str, int]

EARLIEST_OFFSET: Final = EARLIEST
LATEST_OFFSET: Final = LATEST

_INT32_MAX: Final = (1 << 31) - 1
_INT64_MAX: Final = (1 << 63) - 1


class Bound(Enum):
    """The start or the end of every partition."""

    EARLIEST = "earliest"
    LATEST = "latest"


class AtOffsets(NamedTuple):
    """An offset for each partition, or EARLIEST_OFFSET or LATEST_OFFSET."""

    offsets: Mapping[TopicPartition, int]


class AtTimestamp(NamedTuple):
    """The first record of each partition that is not older than the timestamp."""

    timestamp_ms: int


class AtTimestamps(NamedTuple):
    """The first record that is not older than the timestamp of its partition."""

    timestamps_ms: Mapping[TopicPartition, int]


OffsetLimit: TypeAlias = Bound | AtOffsets | AtTimestamp | AtTimestamps


def parse_offsets(text: str) -> AtOffsets:
    """Parse offsets by topic and partition.

    Raises:
        ValueError: the text says what was expected.
    """
    offsets = _by_partition(text, '{"topic": {"0": 23, "1": -1}}, -2 for earliest, -1 for latest')
    lowest = min(offsets.values(), default=0)
    if lowest < EARLIEST_OFFSET:
        raise ValueError(f"{lowest} is no offset, only -2 is below -1: it stands for earliest")
    return AtOffsets(offsets)


def parse_timestamps(text: str) -> AtTimestamps:
    """Parse timestamps, in ms since the epoch, by topic and partition.

    Raises:
        ValueError: the text says what was expected.
    """
    return AtTimestamps(_by_partition(text, '{"topic": {"0": 1700000000000}}'))


def parse_assignment(text: str) -> frozenset[TopicPartition]:
    """Parse lists of partitions by topic.

    Raises:
        ValueError: the text says what was expected.
    """
    expected = 'expected JSON such as {"topic": [0, 1]}'
    found = set()
    for topic, partitions in _object(text, expected).items():
        if not isinstance(partitions, list):
            raise ValueError(expected)
        for partition in partitions:
            if not _is_number(partition, 0, _INT32_MAX):
                raise ValueError(expected)
            found.add((topic, partition))
    if not found:
        raise ValueError(f"no partition is named, {expected}")
    return frozenset(found)


def _by_partition(text: str, example: str) -> dict[TopicPartition, int]:
    expected = f"expected JSON such as {example}"
    found = {}
    for topic, partitions in _object(text, expected).items():
        if not isinstance(partitions, dict):
            raise ValueError(expected)
        for partition, number in partitions.items():
            is_partition = partition.isascii() and partition.isdecimal()
            if not is_partition or int(partition) > _INT32_MAX:
                raise ValueError(expected)
            if not _is_number(number, -_INT64_MAX - 1, _INT64_MAX):
                raise ValueError(expected)
            found[topic, int(partition)] = number
    return found


def _object(text: str, expected: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(expected) from error
    if not isinstance(value, dict):
        raise ValueError(expected)
    return value


def _is_number(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
