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

from broker_lite.coordinator.share_records.held_states import HeldStates
from broker_lite.coordinator.share_records.in_flight import InFlight, InFlightBatch, Run
from broker_lite.coordinator.share_records.settings import ShareSettings
from broker_lite.coordinator.share_records.state import (
    RecordState,
    StateBatch,
    StateUpdate,
    joined,
)

_STALE_LOCKS_MIN: Final = 64
_NEVER: Final = 1 << 62
_AVAILABLE: Final = RecordState.AVAILABLE
_ACQUIRED: Final = RecordState.ACQUIRED


class Lock(NamedTuple):
    """When the lock of a range of records may end; records in it may have other locks by now."""

    deadline_ms: int
    first: int
    last: int


def runs_of_state(start_offset: int, batches: Iterable[StateBatch]) -> int:
    """Return how many runs a share partition has that is made of a kept state.

    Args:
        start_offset: where it starts.
        batches: of the state, ordered by offset. What lies between them is a run, too.
    """
    count, end = 0, start_offset - 1
    for batch in batches:
        if batch.last_offset >= start_offset:
            count += 2 if batch.first_offset > end + 1 else 1
            end = batch.last_offset
    return count


class SharePartition:
    """One share partition.

    Attributes:
        start_offset: the first record that is not done.
        complete_count: how many records from there on are done.
        end_offset: the last record that was ever delivered; start_offset - 1 if none is in flight.
        in_flight: the records from the start offset up to the end offset.
        settings: of the group.
        said: how many records members have said each AcknowledgeType about, since the owner of the
            object has taken the numbers last.

    Rule: G-115, K-10 (SharePartition).
    """

    __slots__ = (
        "_available_from",
        "_locks",
        "complete_count",
        "end_offset",
        "in_flight",
        "said",
        "settings",
        "start_offset",
    )

    def __init__(
        self,
        start_offset: int,
        batches: Iterable[StateBatch],
        settings: ShareSettings,
        held: HeldStates | None = None,
    ) -> None:
        """Begin with what is kept.

        Args:
            start_offset: at least 0.
            batches: what became of records behind it, ordered by offset. Those between them were
                acquired when the broker stopped, or do not exist; they are available.
            settings: of the group.
            held: counts the runs of all share partitions; None for this one alone.

        Rule: K-20 (SharePartition.maybeInitialize).
        """
        self.start_offset = start_offset
        self.end_offset = start_offset - 1
        self.complete_count = 0
        self.in_flight = InFlight(held or HeldStates())
        self.settings = settings
        self.said: dict[int, int] = {}
        self._locks: list[Lock] = []
        # No record below is available.
        self._available_from = _NEVER
        for batch in joined(batches, start_offset):
            if batch.first_offset > self.end_offset + 1:
                gap = Run(self.end_offset + 1, batch.first_offset - 1, _AVAILABLE, 0)
                self.in_flight.add(InFlightBatch(gap, is_unread=True))
            state = RecordState(batch.state)
            run = Run(batch.first_offset, batch.last_offset, state, batch.delivery_count)
            self.in_flight.add(InFlightBatch(run))
            self.end_offset = batch.last_offset
            self._available_from = start_offset
            if run.is_final:
                self.complete_count += run.last - run.first + 1
        self.move_start()

    # -- what there is

    @property
    def in_flight_count(self) -> int:
        """How many records lie between both offsets, done or not."""
        return self.end_offset - self.start_offset + 1

    def next_offset(self) -> int:
        """Return the first record that can be delivered, which need not exist yet.

        See: K-11 (SharePartition.nextFetchOffset).
        """
        first = max(self._available_from, self.start_offset)
        if first <= self.end_offset:
            for run in self.in_flight.runs(first, self.end_offset):
                if run.state is _AVAILABLE:
                    self._available_from = run.first
                    return max(run.first, self.start_offset)
        self._available_from = _NEVER
        return self.end_offset + 1

    def room(self) -> int:
        """Return how many more records may be in flight.

        See: K-36.
        """
        room = self.settings.locks_max - self.in_flight_count
        return room if room > 0 and self.in_flight.has_room(2) else 0

    def may_acquire(self) -> bool:
        """Return whether there is room for more records in flight, or one to deliver again.

        See: K-12 (SharePartition.canAcquireRecords).
        """
        return self.room() > 0 or self.next_offset() <= self.end_offset

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
        if len(self._locks) > 2 * self.in_flight.run_count + _STALE_LOCKS_MIN:
            self._locks = [
                Lock(each.deadline_ms, each.first, each.last)
                for batch in self.in_flight.batches
                for each in batch.runs
                if each.state is _ACQUIRED
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
                if run.state is _ACQUIRED and run.deadline_ms <= now_ms:
                    self.settle(run, _AVAILABLE)
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
            if run.state is _ACQUIRED and run.member_id == member_id
        ]
        for run in released:
            self.settle(run, _AVAILABLE)
        return self.changed(released)

    # -- changes

    def settle(self, run: Run, state: RecordState) -> None:
        """Give the records of a run another state, after which nobody has acquired them.

        Those that are available after their last delivery are archived instead. It is up to the
        caller to move the start, and to call changed() if that is to be written.
        """
        run.settle(state, self.settings.delivery_count_max)
        if run.is_final:
            self.complete_count += run.last - run.first + 1

    def changed(self, runs: Sequence[Run]) -> StateUpdate | None:
        """Note that runs are no longer acquired; return what has to be written, None for nothing.

        The start offset moves behind the records that are done.

        Rule: K-13 (SharePartition.maybeUpdateCachedStateAndOffsets).
        """
        if not runs:
            return None
        for run in runs:
            if run.state is _AVAILABLE:
                self.deliver_again(run.first)
        batches = joined([run.to_state() for run in runs], self.start_offset)
        update = StateUpdate(self.start_offset, self.complete_count, batches)
        self.in_flight.join(batches[0].first_offset, batches[-1].last_offset)
        self.move_start()
        return update

    def deliver_again(self, offset: int) -> None:
        """Note that a record in flight may be available."""
        self._available_from = min(offset, self._available_from)

    def move_start(self) -> None:
        """Move the start offset behind the records that are done, and forget their batches."""
        start, done = self.start_offset, 0
        for batch in self.in_flight.batches:
            run = batch.first_open(start)
            if run is not None:
                if run.first > batch.first or done:
                    start = max(start, run.first)
                break
            done += 1
            start = max(start, batch.last + 1)
        self._pass_done(start)
        self.in_flight.remove_first(done)

    def _pass_done(self, offset: int) -> None:
        """Move the start offset; what it passes is done."""
        if offset > self.start_offset:
            for run in self.in_flight.runs(self.start_offset, offset - 1):
                first, last = max(run.first, self.start_offset), min(run.last, offset - 1)
                self.complete_count -= last - first + 1
            self.start_offset = offset
        self.end_offset = max(self.end_offset, self.start_offset - 1)

    def advance_to(self, log_start_offset: int) -> bool:
        """Forget the records that are no longer in the log; return whether there were any.

        Rule: K-17 (SharePartition.updateCacheAndOffsets).
        """
        if log_start_offset <= self.start_offset:
            return False
        for _, run in self.in_flight.cut([(self.start_offset, log_start_offset - 1)]):
            if not run.is_final:
                self.settle(run, RecordState.ARCHIVED)
        self._pass_done(log_start_offset)
        self.move_start()
        return True
