"""The offsets of a stream: their form in the checkpoint, and the limit of a trigger.

A checkpoint has the next offset of each partition, in the form of Spark's Kafka connector:
`{"topic": {"0": 123}}`. Unlike positions in files, offsets survive retention, compaction and
copying the log.
"""

from collections.abc import Mapping
from typing import TypeAlias

from broker_lite.pipeline.read.offset_limits import TopicPartition

Offsets: TypeAlias = Mapping[TopicPartition, int]
Shape: TypeAlias = dict[str, dict[str, int]]


def to_shape(offsets: Offsets) -> Shape:
    """Convert offsets to the form of the checkpoint, sorted, because Spark compares the text.

    Args:
        offsets: by topic and partition, in any order.
    """
    shape: Shape = {}
    for topic, partition in sorted(offsets):
        shape.setdefault(topic, {})[str(partition)] = offsets[topic, partition]
    return shape


def from_shape(shape: Shape) -> dict[TopicPartition, int]:
    """Convert offsets from the form of the checkpoint."""
    return {
        (topic, int(partition)): offset
        for topic, partitions in shape.items()
        for partition, offset in partitions.items()
    }


def first_offsets(start: Offsets, end: Offsets) -> dict[TopicPartition, int]:
    """Return the start of each partition in `end`; a new partition begins at 0."""
    return {key: start.get(key, 0) for key in end}


def count_between(start: Offsets, end: Offsets) -> int:
    """Count the offsets from a start to an end."""
    firsts = first_offsets(start, end)
    return sum(max(end[key] - firsts[key], 0) for key in end)


def limited(start: Offsets, end: Offsets, max_offsets: int) -> dict[TopicPartition, int]:
    """Limit a trigger to a number of offsets, divided among partitions in proportion.

    Every partition with new offsets advances by at least one, so a small limit may be exceeded by
    the number of partitions.

    Args:
        start: where the trigger begins.
        end: the ends of the logs; partitions that are not in start begin at 0.
        max_offsets: of all partitions together, at least 1.
    """
    total = count_between(start, end)
    if total <= max_offsets:
        return dict(end)
    chosen = {}
    for key, first in first_offsets(start, end).items():
        count = end[key] - first
        share = max(count * max_offsets // total, 1)
        chosen[key] = first + share if count > share else end[key]
    return chosen
