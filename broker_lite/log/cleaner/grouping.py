"""Decides which neighbouring segments are merged into one, by their sizes before the compaction.

Rule: S-83 (Cleaner.groupSegmentsBySize).
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol, TypeVar

from broker_lite.log.files.index import RELATIVE_OFFSET_MAX


class Sizes(NamedTuple):
    """The sizes of a segment's .log file and its two indexes, or the limits for them."""

    log_bytes: int
    index_bytes: int
    time_index_bytes: int


class Source(Protocol):
    """A segment that is to be compacted."""

    @property
    def base_offset(self) -> int:
        """The first offset that the segment may hold."""

    @property
    def end_offset(self) -> int:
        """The base offset of the next segment."""

    @property
    def sizes(self) -> Sizes:
        """The sizes of the segment's files."""


S = TypeVar("S", bound=Source)


def grouped(sources: Iterable[S], limits: Sizes) -> Iterator[list[S]]:
    """Yield groups of neighbouring segments, each small enough to become one segment.

    Args:
        sources: the segments, in the order of their offsets.
        limits: the largest sizes of a segment.
    """
    group: list[S] = []
    total = Sizes(0, 0, 0)
    for source in sources:
        added = Sizes(*map(sum, zip(total, source.sizes, strict=True)))
        if group and not (_fits(added, limits) and _reaches(group[0], source)):
            yield group
            group, added = [], source.sizes
        group.append(source)
        total = added
    if group:
        yield group


def _fits(total: Sizes, limits: Sizes) -> bool:
    return all(size <= limit for size, limit in zip(total, limits, strict=True))


def _reaches(first: Source, source: Source) -> bool:
    """Whether the group's index can hold all offsets of `source`.

    An index holds each offset as its 32-bit distance to the base offset of the group's first
    segment.
    """
    distance = source.end_offset - 1 - first.base_offset
    return source.sizes.log_bytes == 0 or distance <= RELATIVE_OFFSET_MAX
