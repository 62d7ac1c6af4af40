"""Narrows a read to the places where the filters of a query can find rows.

Pruning only leaves out places that certainly have no wanted row, and Spark still filters the rows.
So pruning changes neither a result nor the errors about missing data.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.files.layout import EVERY_OFFSET, PartitionLog
from broker_lite.pipeline.files.parallel import in_parallel
from broker_lite.pipeline.files.positions import offset_for_timestamp
from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.read.ranges import OffsetRange

_Name = TypeVar("_Name")


class Pruning(NamedTuple):
    """Where wanted rows can be; the default is everywhere.

    Attributes:
        topics: None for all.
        partitions: partition numbers, the same for every topic; None for all.
        first_offset: the lowest offset.
        end_offset: the first offset that is too high.
        timestamp_ms: the earliest timestamp; None for no limit.
    """

    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    first_offset: int = 0
    end_offset: int = EVERY_OFFSET
    timestamp_ms: int | None = None

    def __and__(self, other: "Pruning") -> "Pruning":
        """Return the places that both allow."""
        return Pruning(
            _both(self.topics, other.topics),
            _both(self.partitions, other.partitions),
            max(self.first_offset, other.first_offset),
            min(self.end_offset, other.end_offset),
            max((self.timestamp_ms, other.timestamp_ms), key=_or_lowest),
        )

    def has(self, topic: str, partition: int) -> bool:
        """Tell whether a partition can have rows."""
        return (self.topics is None or topic in self.topics) and (
            self.partitions is None or partition in self.partitions
        )


def prune(
    io: FileIO,
    logs: Mapping[TopicPartition, PartitionLog],
    ranges: Mapping[TopicPartition, OffsetRange],
    pruning: Pruning,
) -> dict[TopicPartition, OffsetRange]:
    """Narrow ranges of offsets; ranges that become empty are dropped."""
    keys = [key for key in ranges if pruning.has(*key)]
    starts = in_parallel(io, lambda key: _first_offset(io, logs[key], pruning), keys)
    narrowed = {
        key: OffsetRange(
            max(ranges[key].first_offset, start), min(ranges[key].end_offset, pruning.end_offset)
        )
        for key, start in zip(keys, starts, strict=True)
    }
    return {key: found for key, found in narrowed.items() if found.first_offset < found.end_offset}


def _first_offset(io: FileIO, log: PartitionLog, pruning: Pruning) -> int:
    if pruning.timestamp_ms is None:
        return pruning.first_offset
    # None does not prove that there is no such record, so nothing is left out.
    found = offset_for_timestamp(io, log, pruning.timestamp_ms)
    return pruning.first_offset if found is None else max(pruning.first_offset, found)


def _both(left: frozenset[_Name] | None, right: frozenset[_Name] | None) -> frozenset[_Name] | None:
    if left is None or right is None:
        return right if left is None else left
    return left & right


def _or_lowest(timestamp_ms: int | None) -> int:
    return -EVERY_OFFSET if timestamp_ms is None else timestamp_ms
