"""What the filters of a query say about where its rows are, so that the rest is not read.

Pruning only leaves out what certainly has no row that is wanted; who asked still has to look at the
rows. So it never changes a result, nor whether something asked for by an option is missing.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeVar

from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.files.layout import PartitionLog
from broker_lite.pipeline.files.positions import offset_for_timestamp
from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.read.ranges import OffsetRange, in_parallel

_OFFSET_END: Final = (1 << 63) - 1

_Name = TypeVar("_Name")


class Pruning(NamedTuple):
    """Where rows can be; the default is everywhere.

    Attributes:
        topics: those that count, None for all.
        partitions: the numbers that count, in every topic; None for all.
        first_offset: the lowest offset that counts.
        end_offset: the first one that does not.
        timestamp_ms: no older record counts; None for no such limit.
    """

    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    first_offset: int = 0
    end_offset: int = _OFFSET_END
    timestamp_ms: int | None = None

    def __and__(self, other: "Pruning") -> "Pruning":
        """Give where rows can be that both of them allow."""
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
    """Give what is left of ranges of offsets; an empty one falls out."""
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
    # Without an answer it is not known whether there is no such record, so nothing is left out.
    found = offset_for_timestamp(io, log, pruning.timestamp_ms)
    return pruning.first_offset if found is None else max(pruning.first_offset, found)


def _both(left: frozenset[_Name] | None, right: frozenset[_Name] | None) -> frozenset[_Name] | None:
    if left is None or right is None:
        return right if left is None else left
    return left & right


def _or_lowest(timestamp_ms: int | None) -> int:
    return -_OFFSET_END if timestamp_ms is None else timestamp_ms
