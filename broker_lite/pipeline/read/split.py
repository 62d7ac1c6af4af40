"""What one task reads: some offsets of a partition, and the bytes that they lie in."""

from typing import NamedTuple

from broker_lite.pipeline.files.layout import EVERY_OFFSET, Segment


class SegmentRange(NamedTuple):
    """Some bytes of a segment's .log file, from a batch's start to another one's, or to the end.

    A last batch that begins behind the offsets of its split is taken for damaged.

    Attributes:
        end_position: the first byte that is not read; a torn batch may lie in front of it.
        lowest_offset: that a batch of it can have; None where it begins with the segment.
        limit: above all offsets of its batches; None where it ends with the segment, or in a batch.
    """

    segment: Segment
    start_position: int
    end_position: int
    lowest_offset: int | None = None
    limit: int | None = None

    @property
    def size_bytes(self) -> int:
        """How many bytes that is."""
        return self.end_position - self.start_position


class Split(NamedTuple):
    """What one task reads of a partition; picklable, and complete without the options.

    Every batch of the partition lies in the ranges of one split, or of two when a cut by offsets
    goes through it. Of such a batch, and of those at the edges of a read, only the records count
    whose offsets are the split's.

    Attributes:
        uri: what open_file_io opens; the segments' paths are those inside it.
        first_offset: lowest offset that is wanted.
        end_offset: first offset that is not.
        cleaned_end: offsets may be missing below this one; of those above every one is due.
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
        """How many bytes of files it has."""
        return sum(part.size_bytes for part in self.ranges)

    @property
    def offset_count(self) -> int:
        """How many offsets it spans; after compaction not all of them have a record."""
        return self.end_offset - self.first_offset
