"""What a share group knows of one partition: where it starts, and which records are in flight.

Records before the start offset are done. Those from there up to the end offset are in flight: each
of them is acquired, available once more, or done while others before it are not. Records behind the
end offset were never delivered.

A change is made in memory first, and then written. If it cannot be written, the caller drops the
object and makes it anew of what is written: locks are lost then, and acknowledged records are not.
"""

import heapq
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from broker_lite.coordinator.share_records.in_flight import InFlight, InFlightBatch, Run
from broker_lite.coordinator.share_records.settings import ShareSettings
from broker_lite.coordinator.share_records.state import (
    RecordState,
    StateBatch,
    StateUpdate,
    joined,
)

_STALE_LOCKS_MIN: Final = 64


class Lock(NamedTuple):
    """When the lock of a range of records may end; records in it may have other locks by now."""

    deadline_ms: int
    first: int
    last: int


class SharePartition:
    """One share partition.

    Attributes:
        start_offset: the first record that is not done.
        end_offset: the last record that was ever delivered; start_offset - 1 if none is in flight.
        in_flight: the records from the start offset up to the end offset.
        settings: of the group.
        said: how many records members have said each AcknowledgeType about, since the owner of the
            object has taken the numbers last.

    Rule: G-115, K-10 (SharePartition).
    """

    __slots__ = (
        "_locks",
        "_may_deliver_again",
        "end_offset",
        "in_flight",
        "said",
        "settings",
        "start_offset",
    )

    def __init__(
        self, start_offset: int, batches: Iterable[StateBatch], settings: ShareSettings
    ) -> None:
        """Begin with what is kept.

        Args:
            start_offset: at least 0.
            batches: what became of records behind it, ordered by offset. Those between them were
                acquired when the broker stopped, or do not exist; they are available.
            settings: of the group.

        Rule: K-20 (SharePartition.maybeInitialize).
        """
        self.start_offset = start_offset
        self.end_offset = start_offset - 1
        self.in_flight = InFlight()
        self.settings = settings
        self.said: dict[int, int] = {}
        self._locks: list[Lock] = []
        self._may_deliver_again = False
        for batch in joined(batches, start_offset):
            if batch.first_offset > self.end_offset + 1:
                gap = Run(self.end_offset + 1, batch.first_offset - 1, RecordState.AVAILABLE, 0)
                self.in_flight.add(InFlightBatch(gap, is_unread=True))
            state = RecordState(batch.state)
            run = Run(batch.first_offset, batch.last_offset, state, batch.delivery_count)
            self.in_flight.add(InFlightBatch(run))
            self.end_offset = batch.last_offset
            self._may_deliver_again = True
        self.move_start()

    # -- what there is

    @property
    def in_flight_count(self) -> int:
        """How many records lie between both offsets, done or not."""
        return self.end_offset - self.start_offset + 1

    @property
    def complete_count(self) -> int:
        """How many records from the start offset on are done."""
        count, start = 0, self.start_offset
        for batch in self.in_flight.batches:
            for run in batch.runs:
                if run.is_final and run.first >= start:
                    count += run.last - run.first + 1
        return count

    def next_offset(self) -> int:
        """Return the first record that can be delivered, which need not exist yet.

        See: K-11 (SharePartition.nextFetchOffset).
        """
        if self._may_deliver_again:
            for batch in self.in_flight.batches:
                for run in batch.runs:
                    if run.state is RecordState.AVAILABLE and run.last >= self.start_offset:
                        return max(run.first, self.start_offset)
            self._may_deliver_again = False
        return self.end_offset + 1

    def may_acquire(self) -> bool:
        """Return whether there is room for more records in flight, or one to deliver again.

        See: K-12 (SharePartition.canAcquireRecords).
        """
        return (
            self.in_flight_count < self.settings.locks_max or self.next_offset() <= self.end_offset
        )

    # -- locks

    def lock(self, runs: Sequence[Run], deadline_ms: int) -> None:
        """Note that the locks of some runs end then.

        Args:
            runs: at least one, in order; others may lie between them.
            deadline_ms: when.
        """
        for run in runs:
            run.deadline_ms = deadline_ms
        heapq.heappush(self._locks, Lock(deadline_ms, runs[0].first, runs[-1].last))
        if len(self._locks) > 2 * self.in_flight_count + _STALE_LOCKS_MIN:
            self._locks = [
                Lock(each.deadline_ms, each.first, each.last)
                for batch in self.in_flight.batches
                for each in batch.runs
                if each.state is RecordState.ACQUIRED
            ]
            heapq.heapify(self._locks)

    def next_deadline_ms(self) -> int | None:
        """Return when on_time() has to be called next; None if no record is acquired."""
        return self._locks[0].deadline_ms if self._locks else None

    def on_time(self, now_ms: int) -> StateUpdate | None:
        """End the locks that are due; return what has changed, None for nothing.

        Rule: K-15 (SharePartition.releaseAcquisitionLockOnTimeout).
        """
        ended: list[Run] = []
        while self._locks and self._locks[0].deadline_ms <= now_ms:
            _, first, last = heapq.heappop(self._locks)
            for run in self.in_flight.runs(first, last):
                if run.state is RecordState.ACQUIRED and run.deadline_ms <= now_ms:
                    run.settle(RecordState.AVAILABLE, self.settings.delivery_count_max)
                    ended.append(run)
        return self.changed(ended)

    def release(self, member_id: str) -> StateUpdate | None:
        """End all locks of a member, whose share session has ended.

        Returns:
            What has changed; None for nothing.

        Rule: K-16 (SharePartition.releaseAcquiredRecords).
        """
        released = [
            run
            for batch in self.in_flight.batches
            for run in batch.runs
            if run.state is RecordState.ACQUIRED and run.member_id == member_id
        ]
        for run in released:
            run.settle(RecordState.AVAILABLE, self.settings.delivery_count_max)
        return self.changed(released)

    # -- changes

    def changed(self, runs: Sequence[Run]) -> StateUpdate | None:
        """Note that runs are no longer acquired; return what has to be written, None for nothing.

        The start offset moves behind the records that are done.

        Rule: K-13 (SharePartition.maybeUpdateCachedStateAndOffsets).
        """
        if not runs:
            return None
        may_deliver = any(run.state is RecordState.AVAILABLE for run in runs)
        self._may_deliver_again = self._may_deliver_again or may_deliver
        batches = joined((run.to_state() for run in runs), self.start_offset)
        update = StateUpdate(self.start_offset, self.complete_count, batches)
        first, last = batches[0].first_offset, batches[-1].last_offset
        for batch in self.in_flight.within(first, last):
            batch.join_runs(first, last)
        self.move_start()
        return update

    def deliver_again(self) -> None:
        """Note that records in flight may be available."""
        self._may_deliver_again = True

    def move_start(self) -> None:
        """Move the start offset behind the records that are done, and forget their batches."""
        batches = self.in_flight.batches
        done = 0
        for batch in batches:
            run = next((each for each in batch.runs if not each.is_final), None)
            if run is not None:
                if run.first > batch.first or done:
                    self.start_offset = max(self.start_offset, run.first)
                break
            done += 1
            self.start_offset = max(self.start_offset, batch.last + 1)
        del batches[:done]
        self.end_offset = max(self.end_offset, self.start_offset - 1)

    def advance_to(self, log_start_offset: int) -> bool:
        """Forget the records that are no longer in the log; return whether there were any.

        Rule: K-17 (SharePartition.updateCacheAndOffsets).
        """
        if log_start_offset <= self.start_offset:
            return False
        for batch in self.in_flight.within(self.start_offset, log_start_offset - 1):
            for run in batch.cut(self.start_offset, log_start_offset - 1):
                if not run.is_final:
                    run.settle(RecordState.ARCHIVED, self.settings.delivery_count_max)
        self.start_offset = log_start_offset
        self.move_start()
        return True
