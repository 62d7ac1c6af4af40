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

from collections.abc import Sequence
from typing import NamedTuple

from broker_lite.coordinator.share_records.acquire import Acquired, Range
from broker_lite.coordinator.share_records.partition import SharePartition
from broker_lite.coordinator.share_records.state import RecordState


class AbortedTransaction(NamedTuple):
    """An aborted transaction; both offsets are inclusive, the last one is that of its marker."""

    producer_id: int
    first_offset: int
    last_offset: int

    def has(self, producer_id: int, offset: int) -> bool:
        """Return whether a record batch of a transaction is part of this one."""
        return producer_id == self.producer_id and self.first_offset <= offset <= self.last_offset


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
