"""The batches of records that a share partition has in flight.

A batch is what one ShareFetch has acquired for the first time. Its records mostly share one fate,
so a batch has one run; it is split into several runs only when parts of it are treated otherwise.
"""

from bisect import bisect_right
from collections.abc import Iterator
from operator import attrgetter
from typing import Final

from broker_lite.coordinator.share_records.state import FINAL, RecordState, StateBatch

NO_MEMBER: Final = ""
_FIRST: Final = attrgetter("first")


class Run:
    """Neighbouring records of a batch with the same state.

    Attributes:
        first: the first offset.
        last: the last offset, inclusive.
        state: of all of them.
        delivery_count: how often they were delivered.
        member_id: who has acquired them; NO_MEMBER if nobody has.
        deadline_ms: when the lock of an acquired run ends.
    """

    __slots__ = ("deadline_ms", "delivery_count", "first", "last", "member_id", "state")

    def __init__(
        self,
        first: int,
        last: int,
        state: RecordState,
        delivery_count: int,
        member_id: str = NO_MEMBER,
        deadline_ms: int = 0,
    ) -> None:
        self.first = first
        self.last = last
        self.state = state
        self.delivery_count = delivery_count
        self.member_id = member_id
        self.deadline_ms = deadline_ms

    @property
    def is_final(self) -> bool:
        """Whether the records are never delivered again."""
        return self.state in FINAL

    def to_state(self) -> StateBatch:
        """Return what is kept of the run."""
        return StateBatch(self.first, self.last, int(self.state), self.delivery_count)

    def acquire(self, member_id: str, deadline_ms: int) -> None:
        """Deliver the records once more."""
        self.state = RecordState.ACQUIRED
        self.delivery_count += 1
        self.member_id = member_id
        self.deadline_ms = deadline_ms

    def settle(self, state: RecordState, count_max: int) -> None:
        """End the lock: the records get a state; who was delivered too often is archived instead.

        See: K-14 (InFlightState.tryUpdateState).
        """
        if state is RecordState.AVAILABLE and self.delivery_count >= count_max:
            state = RecordState.ARCHIVED
        self.state = state
        self.member_id = NO_MEMBER


class InFlightBatch:
    """One batch of records.

    Attributes:
        runs: of the batch, in order; they cover all of it.
        is_split: whether it was ever treated in parts; then each record counts by itself.
        is_unread: whether the records lie between others that were delivered before the broker was
            started again, so that nobody knows yet which of them exist.
    """

    __slots__ = ("is_split", "is_unread", "runs")

    def __init__(self, run: Run, *, is_unread: bool = False) -> None:
        self.runs = [run]
        self.is_split = False
        self.is_unread = is_unread

    @property
    def first(self) -> int:
        """The first offset."""
        return self.runs[0].first

    @property
    def last(self) -> int:
        """The last offset, inclusive."""
        return self.runs[-1].last

    def cut(self, first: int, last: int) -> list[Run]:
        """Return the runs of the batch within a range; runs across its ends are split.

        The range may reach beyond the batch. Changing the state of the runs is up to the caller.
        """
        if first <= self.first and last >= self.last:
            return self.runs
        self.is_split = True
        runs: list[Run] = []
        within: list[Run] = []
        for run in self.runs:
            for piece in _pieces(run, first, last):
                runs.append(piece)
                if first <= piece.first and piece.last <= last:
                    within.append(piece)
        self.runs = runs
        return within

    def join_runs(self) -> None:
        """Make one run of neighbours that are alike."""
        if len(self.runs) == 1:
            return
        runs = self.runs[:1]
        for run in self.runs[1:]:
            before = runs[-1]
            if (before.state, before.delivery_count, before.member_id, before.deadline_ms) == (
                run.state,
                run.delivery_count,
                run.member_id,
                run.deadline_ms,
            ):
                before.last = run.last
            else:
                runs.append(run)
        self.runs = runs


def _pieces(run: Run, first: int, last: int) -> Iterator[Run]:
    """Yield a run in up to three pieces: before a range, within it, behind it."""
    start = run.first
    for end in (first - 1, last):
        if start <= end < run.last:
            yield _part(run, start, end)
            start = end + 1
    yield _part(run, start, run.last) if start != run.first else run


def _part(run: Run, first: int, last: int) -> Run:
    return Run(first, last, run.state, run.delivery_count, run.member_id, run.deadline_ms)


class InFlight:
    """All batches of a share partition, ordered by offset, without overlaps."""

    __slots__ = ("batches",)

    def __init__(self) -> None:
        self.batches: list[InFlightBatch] = []

    def index_at(self, offset: int) -> int:
        """Return the index of the batch with an offset; of the one behind it if none has it."""
        index = bisect_right(self.batches, offset, key=_FIRST)
        if index and self.batches[index - 1].last >= offset:
            return index - 1
        return index

    def within(self, first: int, last: int) -> list[InFlightBatch]:
        """Return the batches with any offset of a range."""
        start = self.index_at(first)
        return self.batches[start : bisect_right(self.batches, last, key=_FIRST)]

    def add(self, batch: InFlightBatch) -> None:
        """Add a batch where no other one is."""
        if not self.batches or self.batches[-1].last < batch.first:
            self.batches.append(batch)
        else:
            self.batches.insert(bisect_right(self.batches, batch.first, key=_FIRST), batch)

    def remove(self, batch: InFlightBatch) -> None:
        """Remove a batch."""
        self.batches.remove(batch)

    def runs(self, first: int, last: int) -> Iterator[Run]:
        """Yield the runs with any offset of a range, as they are."""
        for batch in self.within(first, last):
            for run in batch.runs:
                if run.last >= first and run.first <= last:
                    yield run
