"""The batches of records that a share partition has in flight.

A batch is what one ShareFetch has acquired for the first time. Its records mostly share one fate,
so a batch has one run; it is split into several runs only when parts of it are treated otherwise.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter, itemgetter
from typing import Final

from broker_lite.coordinator.share_records.held_states import HeldStates
from broker_lite.coordinator.share_records.state import RecordState, StateBatch

NO_MEMBER: Final = ""
RUNS_MAX: Final = 32_768
"""So many runs may a partition have: to change all of them at once takes 50 ms, or 90 at worst."""
# Compared by identity: Python hashes members of an enum by their names, which is slow.
_ACKNOWLEDGED: Final = RecordState.ACKNOWLEDGED
_ARCHIVED: Final = RecordState.ARCHIVED
_FIRST: Final = attrgetter("first")
_LAST: Final = attrgetter("last")
_RANGE_FIRST: Final = itemgetter(0)


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
        state = self.state
        return state is _ACKNOWLEDGED or state is _ARCHIVED

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

    def within(self, first: int, last: int) -> list[Run]:
        """Return the runs with any offset of a range, as they are."""
        runs = self.runs
        if len(runs) == 1:  # as most batches have
            return runs[:] if runs[0].first <= last and runs[0].last >= first else []
        start = bisect_left(runs, first, key=_LAST)
        return runs[start : bisect_right(runs, last, start, key=_FIRST)]

    def first_open(self, offset: int) -> Run | None:
        """Return the first run from an offset on that is not final; None if there is none."""
        runs = self.runs
        for index in range(bisect_left(runs, offset, key=_LAST), len(runs)):
            if not runs[index].is_final:
                return runs[index]
        return None

    def cut_at(self, offsets: Iterable[int]) -> int:
        """Let a run begin at each of some offsets, in one pass; return how many runs are new.

        Args:
            offsets: in order; they may be equal, and lie outside the batch.
        """
        begin, end = self.first, self.last
        inner = [offset for offset in offsets if begin < offset <= end]
        if not inner:
            return 0
        self.is_split = True
        before = len(self.runs)
        start = bisect_left(self.runs, inner[0], key=_LAST)
        stop = bisect_right(self.runs, inner[-1], start, key=_FIRST)
        self.runs[start:stop] = _pieces(self.runs[start:stop], inner)
        return len(self.runs) - before

    def join_runs(self, first: int, last: int) -> int:
        """Make one run of neighbours that are alike, where one of them has an offset of a range.

        Returns:
            How many runs have gone.
        """
        runs = self.runs
        before = len(runs)
        if before == 1:
            return 0
        start = max(bisect_left(runs, first, key=_LAST) - 1, 0)
        stop = bisect_right(runs, last, start, key=_FIRST) + 1
        runs[start:stop] = _joined(runs[start:stop])
        return before - len(runs)


def _joined(runs: Sequence[Run]) -> list[Run]:
    result = [*runs[:1]]
    for run in runs[1:]:
        before = result[-1]
        if (
            before.state is run.state
            and before.delivery_count == run.delivery_count
            and before.member_id == run.member_id
            and before.deadline_ms == run.deadline_ms
        ):
            before.last = run.last
        else:
            result.append(run)
    return result


def _pieces(runs: Iterable[Run], offsets: Sequence[int]) -> list[Run]:
    """Return runs with those split that do not begin at one of the offsets, which are in order."""
    pieces: list[Run] = []
    position, count = 0, len(offsets)
    for run in runs:
        start, last = run.first, run.last
        while position < count and offsets[position] <= last:
            if offsets[position] > start:
                pieces.append(_part(run, start, offsets[position] - 1))
                start = offsets[position]
            position += 1
        pieces.append(run if start == run.first else _part(run, start, last))
    return pieces


def _part(run: Run, first: int, last: int) -> Run:
    return Run(first, last, run.state, run.delivery_count, run.member_id, run.deadline_ms)


class InFlight:
    """All batches of a share partition, ordered by offset, without overlaps.

    Whatever changes the number of runs is done here, because all share partitions together may have
    only so many.

    Attributes:
        batches: all of them.
        run_count: how many runs they have together.
    """

    __slots__ = ("_held", "batches", "run_count")

    def __init__(self, held: HeldStates) -> None:
        """Begin without a batch.

        Args:
            held: counts the runs of all share partitions.
        """
        self.batches: list[InFlightBatch] = []
        self.run_count = 0
        self._held = held

    def let_go(self) -> None:
        """No longer count the runs among those of all share partitions; they were dropped."""
        self._held.add_runs(-self.run_count)
        self._held = HeldStates()

    def has_room(self, run_count: int) -> bool:
        """Return whether so many runs may be added.

        See: K-36.
        """
        return self.run_count + run_count <= RUNS_MAX and self._held.has_room(run_count)

    def _add_runs(self, count: int) -> None:
        self.run_count += count
        self._held.add_runs(count)

    def index_at(self, offset: int) -> int:
        """Return the index of the batch with an offset; of the one behind it if none has it."""
        index = bisect_right(self.batches, offset, key=_FIRST)
        if index and self.batches[index - 1].last >= offset:
            return index - 1
        return index

    def splits_at(self, offset: int) -> bool:
        """Return whether a run has to be split for another one to begin at an offset."""
        index = bisect_right(self.batches, offset, key=_FIRST)
        if not index:
            return False
        runs = self.batches[index - 1].runs
        run = runs[bisect_right(runs, offset, key=_FIRST) - 1]
        return run.first < offset <= run.last

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
        self._add_runs(len(batch.runs))

    def replace(self, batch: InFlightBatch, others: Sequence[InFlightBatch]) -> None:
        """Put other batches, or none, in the place of one.

        One batch for another moves nothing in the list. To remove the old one and add the new one
        took some 100 ms for 16,000 of 32,000 batches.

        Args:
            batch: in flight.
            others: in order, within the range of the batch.
        """
        index = self.index_at(batch.first)
        self.batches[index : index + 1] = others
        self._add_runs(sum([len(each.runs) for each in others]) - len(batch.runs))

    def remove_first(self, count: int) -> None:
        """Remove the first batches."""
        if count:
            self._add_runs(-sum([len(batch.runs) for batch in self.batches[:count]]))
            del self.batches[:count]

    def split(self, batch: InFlightBatch, offset: int) -> InFlightBatch:
        """Make a batch of its own of what begins at an offset within a batch; return it."""
        self._add_runs(batch.cut_at((offset,)))
        index = bisect_left(batch.runs, offset, key=_FIRST)
        behind = InFlightBatch(batch.runs[index], is_unread=batch.is_unread)
        behind.runs = batch.runs[index:]
        del batch.runs[index:]
        self.batches.insert(self.index_at(batch.first) + 1, behind)
        return behind

    def runs(self, first: int, last: int) -> Iterator[Run]:
        """Yield the runs with any offset of a range, as they are."""
        for batch in self.within(first, last):
            yield from batch.within(first, last)

    def join(self, first: int, last: int) -> None:
        """Make one run of neighbours of a batch that are alike, around a range of offsets."""
        for batch in self.within(first, last):
            self._add_runs(-batch.join_runs(first, last))

    def cut_batch(self, batch: InFlightBatch, first: int, last: int) -> list[Run]:
        """Return the runs of a batch within a range; runs across its ends are split.

        The range may reach beyond the batch. Changing the state of the runs is up to the caller.
        """
        if first <= batch.first and batch.last <= last:
            return batch.runs[:]  # most batches are not split
        self._add_runs(batch.cut_at((first, last + 1)))
        return batch.within(first, last)

    def cut(self, ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, Run]]:
        """Yield the runs within ranges, after the runs across the ranges' ends were split.

        It goes through the ranges and runs once, however many there are. Changing the state of the
        runs is up to the caller.

        Args:
            ranges: first and last offset of each, inclusive; in order, without overlaps.

        Yields:
            The index of a range, and a run within it.
        """
        if not ranges:
            return
        position, count = 0, len(ranges)
        for batch in self.within(ranges[0][0], ranges[-1][1]):
            while position < count and ranges[position][1] < batch.first:
                position += 1
            stop = bisect_right(ranges, batch.last, position, key=_RANGE_FIRST)
            some = ranges[position:stop]
            if not some:
                continue
            self._add_runs(batch.cut_at(_ends_of(some)))
            for run in batch.within(some[0][0], some[-1][1]):
                while ranges[position][1] < run.first:
                    position += 1
                if ranges[position][0] <= run.first:
                    yield position, run


def _ends_of(ranges: Iterable[tuple[int, int]]) -> Iterator[int]:
    """Yield where ranges begin, and where what is behind them begins."""
    for first, last in ranges:
        yield first
        yield last + 1
