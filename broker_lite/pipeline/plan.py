"""What is read by which task: the splits of a read."""

from typing import NamedTuple

from broker_lite.pipeline.layout import Segment


class SegmentRange(NamedTuple):
    """Some bytes of a segment's .log file, from a batch's start to another one's, or to the end.

    Attributes:
        end_position: the first byte that is not read; a torn batch may lie in front of it.
    """

    segment: Segment
    start_position: int
    end_position: int


class Split(NamedTuple):
    """What one task reads of a partition; picklable, and complete without the options.

    Every batch of the partition lies in the ranges of exactly one split. At the edges of a read a
    batch may reach beyond the offsets: of its records only those in between count.

    Attributes:
        uri: what open_file_io opens; the segments' paths are those inside it.
        first_offset: lowest offset that is wanted.
        end_offset: first offset that is not.
    """

    uri: str
    topic: str
    partition: int
    ranges: tuple[SegmentRange, ...]
    first_offset: int
    end_offset: int

    @property
    def size_bytes(self) -> int:
        """How many bytes of files it has."""
        return sum(part.end_position - part.start_position for part in self.ranges)
