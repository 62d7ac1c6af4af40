"""The other replicas of a partition, as numbers: how far each of them is behind.

All brokers share one log. A replica that is not behind needs nothing: its end is the log end
offset. Only while one is behind there is a Replicas. It keeps the recent ends of the log, because
the end of a replica is always one that the log had.
"""

from collections import deque
from collections.abc import Callable, Collection
from typing import Final, NamedTuple

# More ends than this are not kept: of two neighbours one is forgotten then.
_ENDS_MAX: Final = 65_536


class Lag(NamedTuple):
    """How a replica is behind; one of the three.

    Attributes:
        is_frozen: it fetches nothing any more.
        records: it is behind by so many records.
        ms: it gets each record so many milliseconds later.
    """

    is_frozen: bool = False
    records: int = 0
    ms: int = 0


class _Behind(NamedTuple):
    lag: Lag
    end_offset: int
    since_ms: int


class Replicas:
    """The replicas of one partition while at least one is behind.

    Attributes:
        isr: ids of the in-sync replicas, without the leader's.
    """

    __slots__ = ("_behind", "_end_offset", "_ends", "_on_append", "_seen", "_steady_ms", "isr")

    def __init__(
        self,
        isr: Collection[int],
        end_offset: int,
        steady_ms: Callable[[], int],
        on_append: Callable[[], object],
    ) -> None:
        """Begin with all replicas at the end of the log.

        Args:
            isr: see the attribute.
            end_offset: of the log.
            steady_ms: the clock's.
            on_append: called when the log has a new end, which may change next_change_ms() and
                behind_since_ms().
        """
        self.isr = frozenset(isr)
        self._steady_ms = steady_ms
        self._on_append = on_append
        self._end_offset = end_offset
        self._behind: dict[int, _Behind] = {}
        # what each replica had when the high watermark was computed last
        self._seen: dict[int, int] = {}
        self._ends: deque[tuple[int, int]] = deque([(steady_ms(), end_offset)])

    def __bool__(self) -> bool:
        """Whether a replica is behind."""
        return bool(self._behind)

    @property
    def behind(self) -> Collection[int]:
        """The replicas that are behind."""
        return self._behind.keys()

    def fall_behind(self, node_id: int, lag: Lag, end_offset: int | None = None) -> None:
        """Let a replica be behind from now on.

        Args:
            node_id: whose.
            lag: how far.
            end_offset: what it has; None for what it has now.
        """
        end_offset = self.end_of(node_id) if end_offset is None else end_offset
        self._behind[node_id] = _Behind(lag, end_offset, self._steady_ms())

    def ends_below(self, offset: int, leader: int) -> dict[int, int]:
        """Return the ends of the replicas that have less than a leader whose log ends there."""
        ends = {each: self.end_of(each) for each in self._behind if each != leader}
        return {each: end for each, end in ends.items() if end < offset}

    def freeze_all(self) -> None:
        """Let the replicas that are behind fetch nothing any more, as when nobody leads."""
        for node_id in self._behind:
            self.fall_behind(node_id, Lag(is_frozen=True))

    def catch_up(self, node_id: int) -> None:
        """Let a replica have all records."""
        self._behind.pop(node_id, None)

    def end_of(self, node_id: int) -> int:
        """Return the log end offset of a replica."""
        behind = self._behind.get(node_id)
        if behind is None:
            return self._end_offset
        lag, end_offset, _ = behind
        if lag.is_frozen:
            return end_offset
        if lag.records:
            limit = self._end_offset - lag.records
            found = next((end for _, end in reversed(self._ends) if end <= limit), end_offset)
        else:
            limit = self._steady_ms() - lag.ms
            found = next((end for at, end in reversed(self._ends) if at <= limit), end_offset)
        return max(found, end_offset)

    def high_watermark(self, end_offset: int) -> int:
        """Return the high watermark of the leader when its log ends at an offset.

        Rule: C-50 (Partition.maybeIncrementLeaderHW).
        """
        if end_offset != self._end_offset:
            self._end_offset = end_offset
            self._ends.append((self._steady_ms(), end_offset))
            if len(self._ends) > _ENDS_MAX:
                self._ends = deque([*self._ends][::2])
            self._on_append()
        self._seen = {each: self.end_of(each) for each in {*self.isr, *self._behind}}
        return min((self._seen[each] for each in self.isr), default=end_offset)

    def behind_since_ms(self, node_id: int) -> int | None:
        """Return when a replica last had all records; None if it has them now.

        See: C-51 (Replica.stateSnapshot, lastCaughtUpTimeMs).
        """
        behind = self._behind.get(node_id)
        end_offset = self.end_of(node_id)
        if behind is None or end_offset >= self._end_offset:
            return None
        if behind.lag.is_frozen:
            return behind.since_ms
        return next(at for at, end in self._ends if end > end_offset)

    def next_change_ms(self) -> int | None:
        """Return when a replica gets more than it had when high_watermark() was called last.

        Returns:
            A time that may have passed; None if that needs an append.
        """
        due = [
            at + behind.lag.ms
            for node_id, behind in self._behind.items()
            if behind.lag.ms
            for at, end in self._ends
            if end > self._seen.get(node_id, behind.end_offset)
        ]
        return min(due, default=None)

    def forget_old_ends(self) -> None:
        """Forget the ends that no replica can have any more."""
        needed = min((self.end_of(each) for each in self._behind), default=self._end_offset)
        while len(self._ends) > 1 and self._ends[1][1] <= needed:
            self._ends.popleft()
