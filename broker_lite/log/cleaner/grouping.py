"""Which neighbouring segments become one, by the sizes that they have before.

Rule: S-83 (Cleaner.groupSegmentsBySize).
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol, TypeVar

from broker_lite.log.files.index import RELATIVE_OFFSET_MAX


class Sizes(NamedTuple):
    """Of a segment, or the limits of one: the .log file and the two indexes."""

    log_bytes: int
    index_bytes: int
    time_index_bytes: int


class Source(Protocol):
    """A segment that is to be compacted."""

    @property
    def base_offset(self) -> int:
        """The first offset that it may hold."""

    @property
    def end_offset(self) -> int:
        """Where the next one begins."""

    @property
    def sizes(self) -> Sizes:
        """How large its files are."""


S = TypeVar("S", bound=Source)


def grouped(sources: Iterable[S], limits: Sizes) -> Iterator[list[S]]:
    """Put segments together as long as a group is not too large for one segment.

    Args:
        sources: in order.
        limits: of a segment.
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
    """Whether all offsets of a segment can be told relative to the first one's base."""
    distance = source.end_offset - 1 - first.base_offset
    return source.sizes.log_bytes == 0 or distance <= RELATIVE_OFFSET_MAX
