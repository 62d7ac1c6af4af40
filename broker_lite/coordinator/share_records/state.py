"""The state of a share partition that is kept: its start, and what became of records after it."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from enum import IntEnum
from operator import attrgetter
from typing import Final, NamedTuple


class RecordState(IntEnum):
    """What became of a record; the numbers are those of Kafka's records.

    Source: RecordState.
    """

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4


FINAL: Final = frozenset((RecordState.ACKNOWLEDGED, RecordState.ARCHIVED))
"""The states of records that are never delivered again."""


class StateBatch(NamedTuple):
    """Records with the same state; both offsets are inclusive."""

    first_offset: int
    last_offset: int
    state: int
    delivery_count: int


_LAST: Final = attrgetter("last_offset")


class StateUpdate(NamedTuple):
    """A change of the state that is kept.

    Attributes:
        start_offset: the start when the change began; the records before it are done.
        complete_count: how many records from there on are done.
        batches: what has changed, ordered by offset.
    """

    start_offset: int
    complete_count: int
    batches: Sequence[StateBatch]


def overlay(
    known: Iterable[StateBatch], changed: Iterable[StateBatch], start_offset: int
) -> list[StateBatch]:
    """Return a state with a change: it counts where both tell of the same record.

    Args:
        known: ordered by offset, without overlaps.
        changed: the same.
        start_offset: what lies before it is left out.

    See: K-21 (PersisterStateBatchCombiner).
    """
    newer = list(changed)
    pieces: list[StateBatch] = [*newer]
    for batch in known:
        first = batch.first_offset
        at = bisect_left(newer, first, key=_LAST)
        while at < len(newer) and newer[at].first_offset <= batch.last_offset:
            if first < newer[at].first_offset:
                before = newer[at].first_offset - 1
                pieces.append(batch._replace(first_offset=first, last_offset=before))
            first = newer[at].last_offset + 1
            at += 1
        if first <= batch.last_offset:
            pieces.append(batch._replace(first_offset=first))
    return joined(pieces, start_offset)


def joined(pieces: Iterable[StateBatch], start_offset: int) -> list[StateBatch]:
    """Return batches without overlaps in order, neighbours of the same state as one."""
    result: list[StateBatch] = []
    for piece in sorted(pieces):
        if piece.last_offset < start_offset:
            continue
        first = max(piece.first_offset, start_offset)
        before = result[-1] if result else None
        if before is not None and before.last_offset + 1 == first and before[2:] == piece[2:]:
            result[-1] = before._replace(last_offset=piece.last_offset)
        else:
            result.append(piece._replace(first_offset=first))
    return result
