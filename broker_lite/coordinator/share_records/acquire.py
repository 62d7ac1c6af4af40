"""A member acquires records of a share partition: which ones a ShareFetch gets.

What is fetched of the log are whole record batches. Records in them that are in flight and
available are acquired again, others that are not in flight for the first time.

- By batches (KIP-932): whole record batches, so that a member may get more records than it wants.
  Records that were acquired together mostly stay together.
- By records (KIP-1206): never more than the member wants. The record batch of the last one is in
  flight as a whole, and what is left of it is available.

A batch that has failed half of its deliveries is delivered in parts, which become smaller, so that
a record that no member can process does not take others with it.

Rule: K-11, K-12 (SharePartition.acquire).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from broker_lite.coordinator.share_records.in_flight import InFlightBatch, Run
from broker_lite.coordinator.share_records.partition import SharePartition
from broker_lite.coordinator.share_records.state import RecordState

_AVAILABLE: Final = RecordState.AVAILABLE
_THROTTLED_FROM_MIN: Final = 2
_RANGE_FIRST: Final = itemgetter(0)
_RANGE_LAST: Final = itemgetter(1)


class Range(NamedTuple):
    """The offsets of a record batch in the log, or of a part of it; both are inclusive."""

    first: int
    last: int


class Acquired(NamedTuple):
    """Records that a member has acquired; both offsets are inclusive."""

    first_offset: int
    last_offset: int
    delivery_count: int


class Wish(NamedTuple):
    """What a member wants.

    Attributes:
        member_id: who it is.
        records_max: how many records, at least 1.
        batch_records: how many records there should be in one batch, at least.
        is_strict: whether `records_max` holds although record batches are larger.
    """

    member_id: str
    records_max: int
    batch_records: int
    is_strict: bool


def may_acquire(partition: SharePartition, wish: Wish) -> bool:
    """Return whether a member could get records of a share partition that are in the log.

    Without memory for more runs, it does not get a part of a run: with a strict limit it waits if
    the first one that is available has more records than it wants.

    See: K-12, K-36.
    """
    if not partition.may_acquire():
        return False
    if not wish.is_strict or partition.in_flight.has_room(2):
        return True
    first = partition.next_offset()
    for run in partition.in_flight.runs(first, first):
        return run.last - first < wish.records_max
    return False


def last_wanted(partition: SharePartition, wish: Wish) -> int:
    """Return the offset up to which record batches have to be known, for a fetch from now on.

    Without a strict limit all available records of a batch in flight are acquired together.
    """
    wanted = wish.records_max
    first = partition.next_offset()
    if first <= partition.end_offset:
        for batch in partition.in_flight.within(first, partition.end_offset):
            for run in batch.within(first, partition.end_offset):
                if run.state is _AVAILABLE:
                    wanted -= run.last - run.first + 1
                    if wanted <= 0:
                        return run.last if wish.is_strict else batch.last
    return partition.end_offset + wanted


def acquire(
    partition: SharePartition, wish: Wish, fetched: Sequence[Range], deadline_ms: int
) -> list[Acquired]:
    """Let a member acquire records.

    Args:
        partition: the share partition.
        wish: of the member.
        fetched: the record batches from the partition's next offset on, in order.
        deadline_ms: when the locks end.

    Returns:
        The records, ordered by offset; empty if there are none for the member.
    """
    if not fetched or wish.records_max <= 0:
        return []
    first = max(fetched[0].first, partition.start_offset)
    last = fetched[-1].last
    wanted = min(wish.records_max, partition.room())
    if wanted <= 0:
        if first > partition.end_offset:
            return []
        wanted = min(wish.records_max, partition.end_offset - first + 1)
        last = min(last, partition.end_offset)
    acquiring = _Acquiring(partition, wish, fetched, deadline_ms, wanted)
    acquiring.take(first, last)
    return acquiring.acquired


class _Acquiring:
    """One acquisition, and how many records are left to acquire."""

    def __init__(
        self,
        partition: SharePartition,
        wish: Wish,
        fetched: Sequence[Range],
        deadline_ms: int,
        wanted: int,
    ) -> None:
        self.acquired: list[Acquired] = []
        self._partition = partition
        self._wish = wish
        self._fetched = fetched
        self._deadline_ms = deadline_ms
        self._left = wanted
        limit = partition.settings.delivery_count_max
        self._throttled_from = max(_THROTTLED_FROM_MIN, -(-limit // 2))
        self._last_delivery = limit - 1 if limit > _THROTTLED_FROM_MIN else -1

    def take(self, first: int, last: int) -> None:
        """Acquire what is available of a range, in the order of the offsets."""
        position = first
        for batch in self._partition.in_flight.within(first, last):
            if self._left <= 0:
                return
            if batch.first > position:
                self._take_behind(position, batch.first - 1)
            if self._left <= 0:
                return
            position = batch.last + 1
            if batch.is_unread:
                self._take_unread(batch, first, last)
            elif self._take_again(batch, first, last):
                return
        if self._left > 0 and position <= last:
            self._take_behind(position, last)

    # -- records that are not in flight

    def _take_behind(self, first: int, last: int) -> None:
        """Acquire records for the first time, if there is memory for what is acquired and the rest.

        See: K-36.
        """
        if self._partition.in_flight.has_room(2):
            self._take_new(first, last)

    def _take_unread(self, batch: InFlightBatch, first: int, last: int) -> None:
        """Acquire records of which nothing was written before the last start.

        What the log has no record batch of is forgotten.

        See: K-36.
        """
        in_flight = self._partition.in_flight
        begin, end = batch.first, batch.last
        if not in_flight.has_room(2):
            self._take_unread_whole(batch, first, last)
            return
        taken_to = self._take_new(max(begin, first), min(end, last), batch)
        if taken_to < end:
            rest = Run(max(taken_to + 1, begin), end, RecordState.AVAILABLE, 0)
            in_flight.add(InFlightBatch(rest, is_unread=True))
            self._partition.deliver_again(rest.first)

    def _take_unread_whole(self, batch: InFlightBatch, first: int, last: int) -> None:
        """Do as _take_unread() without memory for more runs: all of the batch, or nothing."""
        begin, end = batch.first, batch.last
        if begin < first or end > last:
            return
        if self._wish.is_strict and end - begin + 1 > self._left:
            return
        self._add([Range(begin, end)] if self._fetched_within(begin, end) else [], batch)

    def _take_new(self, first: int, last: int, unread: InFlightBatch | None = None) -> int:
        """Acquire records for the first time.

        Args:
            first: the first record to acquire.
            last: the last one.
            unread: the batch in flight that has the records, if there is one; it is replaced.

        Returns:
            The last offset that was acquired, or that has no record; first - 1 if there is none.

        Rule: K-11 (SharePartition.acquireNewBatchRecords).
        """
        wish = self._wish
        batches = self._fetched_within(first, last)
        limit = first + self._left - 1
        if batches and limit < last:
            index = bisect_left(batches, limit, 0, len(batches) - 1, key=_RANGE_LAST)
            last = min(last, batches[index].last)
        new: list[Range] = []
        begin = first
        room = 2 - (len(unread.runs) if unread is not None else 0)
        for each in () if wish.is_strict else batches:
            end = min(each.last, last)
            if (
                begin <= end
                and end - begin + 1 >= wish.batch_records
                and self._partition.in_flight.has_room(len(new) + room)
            ):
                new.append(Range(begin, end))
                begin = end + 1
        if batches and begin <= last:
            new.append(Range(begin, last))
        self._add(new, unread)
        return last

    def _fetched_within(self, first: int, last: int) -> Sequence[Range]:
        """Return the record batches with any offset of a range."""
        fetched = self._fetched
        start = bisect_left(fetched, first, key=_RANGE_LAST)
        return fetched[start : bisect_right(fetched, last, start, key=_RANGE_FIRST)]

    def _add(self, ranges: Sequence[Range], unread: InFlightBatch | None) -> None:
        """Put batches in flight, and acquire their records.

        With a strict limit, what is above it is available.

        Args:
            ranges: of the batches, in order.
            unread: the batch that they replace, if there is one.
        """
        partition, in_flight = self._partition, self._partition.in_flight
        new = [InFlightBatch(Run(*each, RecordState.AVAILABLE, 0)) for each in ranges]
        if unread is not None:
            in_flight.replace(unread, new)
        else:
            for batch in new:
                in_flight.add(batch)
        for batch, (first, last) in zip(new, ranges, strict=True):
            partition.end_offset = max(partition.end_offset, last)
            acquired_to = min(first + self._left - 1, last) if self._wish.is_strict else last
            self._acquire(in_flight.cut_batch(batch, first, acquired_to))
            if acquired_to < last:
                partition.deliver_again(acquired_to + 1)

    # -- records that are in flight

    def _take_again(self, batch: InFlightBatch, first: int, last: int) -> bool:
        """Acquire what is available of a batch in flight; return whether that is all for now.

        Rule: K-12 (SharePartition.acquireSubsetBatchRecords).
        """
        first = max(first, self._partition.start_offset)
        some = [run for run in batch.within(first, batch.last) if run.state is _AVAILABLE]
        if not some:
            return False
        is_throttled = max([run.delivery_count for run in some]) >= self._throttled_from
        if is_throttled and self.acquired:
            return True
        available = [run for run in some if run.first <= last]
        if not available:
            return False
        first = max(available[0].first, first)
        batch.is_split = batch.is_split or is_throttled
        self._acquire_part(batch, first, self._last_of(batch, available, first), last)
        return is_throttled

    def _last_of(self, batch: InFlightBatch, runs: Sequence[Run], first: int) -> int:
        """Return the last of the available records of a batch that are acquired together.

        Args:
            batch: in flight.
            runs: its available runs, at least one, in order.
            first: the first record to acquire, within the first run.

        Rule: K-18 (SharePartition.acquireSubsetBatchRecords).
        """
        limits = [self._left] if self._wish.is_strict else []
        count, before = 0, first
        part = 0
        for run in runs:
            begin = max(run.first, first)
            failures = run.delivery_count
            if failures == self._last_delivery:
                return before if count else begin
            if failures >= self._throttled_from and not part:
                part = self._part_of(batch, failures)
                limits.append(part)
            # as in Kafka, a limit that was passed before it was known does not count
            left = min([each - count for each in limits if each > count], default=0)
            size = run.last - begin + 1
            if 0 < left <= size:
                return begin + left - 1
            count, before = count + size, run.last
        return before

    def _part_of(self, batch: InFlightBatch, failures: int) -> int:
        """Return how many records are delivered at once of a batch that has failed so often."""
        size = batch.last - batch.first + 1
        return max(size >> (failures - self._throttled_from + 1), 1)

    def _acquire_part(self, batch: InFlightBatch, first: int, last: int, end: int) -> None:
        """Acquire what is available of a part of a batch, which begins at an available record.

        Args:
            batch: in flight.
            first: the first record to acquire.
            last: the last one.
            end: the last one that was fetched; a member that acquired more would not have it.

        See: K-36.
        """
        in_flight = self._partition.in_flight
        last = min(last, end)
        if last < batch.last and in_flight.splits_at(last + 1) and not in_flight.has_room(1):
            last = self._last_unsplit(batch, first, last, end)
            if last < first:
                return
        some = in_flight.cut_batch(batch, first, last)
        self._acquire([run for run in some if run.state is _AVAILABLE])

    def _last_unsplit(self, batch: InFlightBatch, first: int, last: int, end: int) -> int:
        """Return the last record to acquire if the run of `last` cannot be split.

        The run is acquired whole, or not at all if not all of it was fetched, or if that would be
        more than the member wants.
        """
        split = batch.within(last, last)[0]
        count = 0
        for run in batch.within(first, last) if self._wish.is_strict else ():
            if run.state is _AVAILABLE:
                count += run.last - max(run.first, first) + 1
        return split.last if split.last <= end and count <= self._left else split.first - 1

    def _acquire(self, runs: Sequence[Run]) -> None:
        """Acquire runs of one batch; neighbours that were delivered equally often are told as one.

        Args:
            runs: at least one, in order.
        """
        member_id, deadline_ms = self._wish.member_id, self._deadline_ms
        first, last, count = runs[0].first, runs[0].first - 1, runs[0].delivery_count + 1
        for run in runs:
            run.acquire(member_id, deadline_ms)
            if run.first != last + 1 or run.delivery_count != count:
                self.acquired.append(Acquired(first, last, count))
                first, count = run.first, run.delivery_count
            last = run.last
            self._left -= last - run.first + 1
        self.acquired.append(Acquired(first, last, count))
        self._partition.lock(runs, deadline_ms)
