"""Records of aborted transactions, which a group that reads committed records never gets.

A difference to Kafka: where the start offset was moved into a record batch that was aborted, or
behind it, and the batch is read, Kafka answers UNKNOWN_SERVER_ERROR. Here the member gets what
follows.

A difference to Kafka: the start offset moves behind aborted records at once. Kafka moves it with
the next acknowledgement. Until then its aborted records count as in flight, and a group stops at an
aborted transaction of `group.share.partition.max.record.locks` records. So
DescribeShareGroupOffsets may tell a later start here, and acknowledgements of records that a member
does not have may be refused with 121 instead of 42, or with another text.

Rule: K-19 (SharePartition.maybeFilterAbortedTransactionalAcquiredRecords).
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from broker_lite.coordinator.share_records.acquire import Acquired, Range
from broker_lite.coordinator.share_records.partition import SharePartition
from broker_lite.coordinator.share_records.state import RecordState

_RANGE_FIRST: Final = itemgetter(0)


class AbortedTransaction(NamedTuple):
    """An aborted transaction; both offsets are inclusive, the last one is that of its marker."""

    producer_id: int
    first_offset: int
    last_offset: int


class AbortedTransactions:
    """Aborted transactions, to look up record batches in; those of a producer do not overlap."""

    __slots__ = ("_ranges",)

    def __init__(self, transactions: Iterable[AbortedTransaction]) -> None:
        """Take transactions in any order."""
        self._ranges: dict[int, list[Range]] = {}
        for producer_id, first, last in transactions:
            self._ranges.setdefault(producer_id, []).append(Range(first, last))
        for each in self._ranges.values():
            each.sort()

    def has(self, producer_id: int, offset: int) -> bool:
        """Return whether a transactional record batch is part of one of them."""
        ranges = self._ranges.get(producer_id, ())
        index = bisect_right(ranges, offset, key=_RANGE_FIRST)
        return index > 0 and offset <= ranges[index - 1].last


def told_apart(
    partition: SharePartition, fetched: Sequence[Range], aborted: Sequence[Range]
) -> Sequence[Range]:
    """Return the record batches that a member may acquire records of: without memory not all.

    The others come after so many aborted ones that there is no memory for runs of each.

    Args:
        partition: the share partition.
        fetched: the record batches, in order.
        aborted: those of aborted transactions among them, in order.

    See: K-36.
    """
    count = len(aborted)
    while count and not partition.in_flight.has_room(2 * count):
        count //= 2
    if count == len(aborted):
        return fetched
    end = aborted[count].first
    return [each for each in fetched if each.first < end]


def archive_aborted(
    partition: SharePartition, acquired: Sequence[Acquired], aborted: Sequence[Range]
) -> list[Acquired]:
    """Archive what was acquired of aborted transactions; return what the member gets.

    The start offset moves behind them in memory, so that they leave room for what follows. Nothing
    is written before the next change: what is read again after a restart is archived again.

    Args:
        partition: the share partition.
        acquired: what a member has acquired just now, ordered by offset.
        aborted: the record batches of aborted transactions, ordered by offset.
    """
    left: list[Acquired] = []
    ended: list[Range] = []
    position = 0
    for one in acquired:
        first = one.first_offset
        while position < len(aborted) and aborted[position].first <= one.last_offset:
            batch = aborted[position]
            if batch.last >= first:
                begin, end = max(batch.first, first), min(batch.last, one.last_offset)
                if first < begin:
                    left.append(one._replace(first_offset=first, last_offset=begin - 1))
                ended.append(Range(begin, end))
                first = end + 1
            if batch.last > one.last_offset:
                break  # the rest of it may be in what was acquired next
            position += 1
        if first <= one.last_offset:
            left.append(one._replace(first_offset=first))
    for _, run in partition.in_flight.cut(ended):
        partition.settle(run, RecordState.ARCHIVED)
    if ended:
        partition.move_start()
    return left
