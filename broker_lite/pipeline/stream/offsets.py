"""The offsets of a stream: how its checkpoint has them, and how far one trigger goes.

What a stream remembers is the next offset of each partition, in the shape that Spark's Kafka
connector has: `{"topic": {"0": 123}}`. Offsets outlive what positions in files do not: retention,
compaction, a copy of the log.
"""

from collections.abc import Mapping
from typing import TypeAlias

from broker_lite.pipeline.read.offset_limits import TopicPartition

Offsets: TypeAlias = Mapping[TopicPartition, int]
Shape: TypeAlias = dict[str, dict[str, int]]


def to_shape(offsets: Offsets) -> Shape:
    """Give offsets as the checkpoint has them; equal ones in equal order, for Spark compares text.

    Args:
        offsets: by topic and partition, in any order.
    """
    shape: Shape = {}
    for topic, partition in sorted(offsets):
        shape.setdefault(topic, {})[str(partition)] = offsets[topic, partition]
    return shape


def from_shape(shape: Shape) -> dict[TopicPartition, int]:
    """Read offsets as the checkpoint has them."""
    return {
        (topic, int(partition)): offset
        for topic, partitions in shape.items()
        for partition, offset in partitions.items()
    }


def first_offsets(start: Offsets, end: Offsets) -> dict[TopicPartition, int]:
    """Give where each partition of an end begins; one that came into being since does at 0."""
    return {key: start.get(key, 0) for key in end}


def count_between(start: Offsets, end: Offsets) -> int:
    """Count the offsets from a start to an end."""
    firsts = first_offsets(start, end)
    return sum(max(end[key] - firsts[key], 0) for key in end)


def limited(start: Offsets, end: Offsets, max_offsets: int) -> dict[TopicPartition, int]:
    """Go no further than a number of offsets, shared among partitions by what each has to offer.

    Every partition that has something gets on by one offset at least, whatever the others have, so
    a small limit may be passed by the number of partitions.

    Args:
        start: where the trigger begins.
        end: what there is; partitions that are not in start begin at 0.
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
