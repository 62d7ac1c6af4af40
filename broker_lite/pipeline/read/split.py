"""The input of one task: offsets of a partition, and the byte ranges that have them."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol, TypeVar

from broker_lite.pipeline.files.layout import EVERY_OFFSET, Segment


class SegmentRange(NamedTuple):
    """A byte range of a .log file, from the start of a batch to that of another, or to the end.

    If the last batch begins behind the offsets of the split, its offset is damaged.

    Attributes:
        end_position: where to stop; a torn batch may lie in front of it.
        lowest_offset: lowest possible offset of its batches; None if it begins with the segment.
        limit: above all offsets of its batches; None if it ends with the segment or within a batch.
    """

    segment: Segment
    start_position: int
    end_position: int
    lowest_offset: int | None = None
    limit: int | None = None

    @property
    def size_bytes(self) -> int:
        """Size of the range."""
        return self.end_position - self.start_position


class Split(NamedTuple):
    """The input of one task; picklable, and usable without the options.

    Every batch of the partition lies in the ranges of one split, or of two if a cut goes through
    the batch. Of such a batch, and of those at the ends of a read, only records with offsets of the
    split count.

    Attributes:
        uri: for open_file_io(); the segments' paths are inside that storage.
        first_offset: lowest wanted offset.
        end_offset: first offset that is not wanted.
        cleaned_end: offsets may be missing below this one, but none above.
    """

    uri: str
    topic: str
    partition: int
    ranges: tuple[SegmentRange, ...]
    first_offset: int
    end_offset: int
    cleaned_end: int = EVERY_OFFSET

    @property
    def size_bytes(self) -> int:
        """Size of all ranges."""
        return sum(part.size_bytes for part in self.ranges)

    @property
    def offset_count(self) -> int:
        """Number of offsets; after compaction some of them have no record."""
        return self.end_offset - self.first_offset


class Sized(Protocol):
    """Has a size in bytes."""

    @property
    def size_bytes(self) -> int:
        """Its size."""


Part = TypeVar("Part", bound=Sized)


def gathered(parts: Iterable[Part], size_bytes_max: int) -> list[list[Part]]:
    """Put neighbours together, so that a task is worth its overhead.

    Args:
        parts: in an order that is kept.
        size_bytes_max: of several parts together; a larger one stays alone.
    """
    groups: list[list[Part]] = []
    size_bytes = 0
    for part in parts:
        if not groups or size_bytes + part.size_bytes > size_bytes_max:
            groups.append([])
            size_bytes = 0
        groups[-1].append(part)
        size_bytes += part.size_bytes
    return groups
