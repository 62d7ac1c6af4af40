"""The state of a share partition that is kept: its start, and what became of records after it."""

from bisect import bisect_left, bisect_right
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


class StateBatch(NamedTuple):
    """Records with the same state; both offsets are inclusive."""

    first_offset: int
    last_offset: int
    state: int
    delivery_count: int


_FIRST: Final = attrgetter("first_offset")
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
    known: Sequence[StateBatch], changed: Sequence[StateBatch], start_offset: int
) -> list[StateBatch]:
    """Return a state with a change: it counts where both tell of the same record.

    Args:
        known: ordered by offset, without overlaps, neighbours of the same state as one.
        changed: ordered by offset, without overlaps.
        start_offset: what lies before it is left out.

    See: K-21 (PersisterStateBatchCombiner).
    """
    if not changed:
        return joined(known, start_offset)
    # What does not even touch the change stays as it is, however much that is.
    begin = bisect_left(known, changed[0].first_offset - 1, key=_LAST)
    end = bisect_right(known, changed[-1].last_offset + 1, begin, key=_FIRST)
    pieces = [*changed]
    at, count = 0, len(changed)
    for batch in known[begin:end]:
        first = batch.first_offset
        while at < count and changed[at].last_offset < first:
            at += 1
        newer = at
        while newer < count and changed[newer].first_offset <= batch.last_offset:
            if first < changed[newer].first_offset:
                before = changed[newer].first_offset - 1
                pieces.append(batch._replace(first_offset=first, last_offset=before))
            first = changed[newer].last_offset + 1
            newer += 1
        if first <= batch.last_offset:
            pieces.append(batch._replace(first_offset=first))
    some = joined(pieces, start_offset)
    ahead = bisect_left(known, start_offset, 0, begin, key=_LAST)
    head, tail = known[ahead:begin], known[end:]
    if head and head[0].first_offset < start_offset:
        head = [head[0]._replace(first_offset=start_offset), *head[1:]]
    if tail and tail[0].first_offset < start_offset:
        tail = joined(tail, start_offset)
    return [*head, *some, *tail]


def joined(pieces: Iterable[StateBatch], start_offset: int) -> list[StateBatch]:
    """Return batches without overlaps in order, neighbours of the same state as one."""
    result: list[StateBatch] = []
    end, state, count = start_offset - 1, -1, -1
    for piece in sorted(pieces):
        first, last, piece_state, piece_count = piece
        if last < start_offset:
            continue
        if result and first == end + 1 and piece_state == state and piece_count == count:
            result[-1] = StateBatch(result[-1].first_offset, last, state, count)
        elif first < start_offset:
            result.append(StateBatch(start_offset, last, piece_state, piece_count))
        else:
            result.append(piece)
        end, state, count = last, piece_state, piece_count
    return result
