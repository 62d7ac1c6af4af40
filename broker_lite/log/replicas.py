"""The other replicas of a partition, as numbers: how far each of them is behind.

All brokers share one log. A replica that is not behind needs nothing: its end is the log end
offset. Only while one is behind there is a Replicas. It keeps the recent ends of the log, because
the end of a replica is always one that the log had.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection
from typing import Final, NamedTuple

ENDS_MAX: Final = 65_536


class Lag(NamedTuple):
    """How a replica is behind; one of the three.

    Attributes:
        is_frozen: it fetches nothing any more.
        records: it is behind by so many records.
        ms: it gets each record so many milliseconds later.
        is_passing: it is frozen only until its broker and a leader are there.
    """

    is_frozen: bool = False
    records: int = 0
    ms: int = 0
    is_passing: bool = False


STOPPED: Final = Lag(is_frozen=True, is_passing=True)


class _Behind(NamedTuple):
    lag: Lag
    end_offset: int
    since_ms: int


class Replicas:
    """The replicas of one partition while at least one is behind, or too few are in sync.

    Attributes:
        isr: ids of the in-sync replicas, without the leader's.
        is_short: fewer are in sync than min.insync.replicas says.
    """

    __slots__ = (
        "_behind",
        "_end_offset",
        "_ends",
        "_ends_max",
        "_on_append",
        "_seen",
        "_steady_ms",
        "_stopped_ms",
        "_times_ms",
        "is_short",
        "isr",
    )

    def __init__(
        self,
        isr: Collection[int],
        end_offset: int,
        steady_ms: Callable[[], int],
        on_append: Callable[[], object],
        *,
        ends_max: int = ENDS_MAX,
    ) -> None:
        """Begin with all replicas at the end of the log.

        Args:
            isr: see the attribute.
            end_offset: of the log.
            steady_ms: the clock's.
            on_append: called when the log has a new end, which may change next_change_ms() and
                behind_since_ms().
            ends_max: of more ends than this, every second one is forgotten.
        """
        self.isr = frozenset(isr)
        self.is_short = False
        self._steady_ms = steady_ms
        self._on_append = on_append
        self._end_offset = end_offset
        self._behind: dict[int, _Behind] = {}
        # what each replica had when the high watermark was computed last
        self._seen: dict[int, int] = {}
        # the recent ends of the log, and when it got each
        self._ends = [end_offset]
        self._times_ms = [steady_ms()]
        self._ends_max = ends_max
        self._stopped_ms: int | None = None

    @property
    def ends(self) -> list[tuple[int, int]]:
        """The recent ends of the log, and when it got each; a replica behind has one of them."""
        return [*zip(self._ends, self._times_ms, strict=True)]

    def __bool__(self) -> bool:
        """Whether the high watermark may be below the log end offset, now or later."""
        return self.is_short or bool(self._behind)

    @property
    def behind(self) -> Collection[int]:
        """The replicas that are behind."""
        return self._behind.keys()

    def lag_of(self, node_id: int) -> Lag | None:
        """Return how a replica is behind; None if it is not."""
        behind = self._behind.get(node_id)
        return None if behind is None else behind.lag

    def fall_behind(self, node_id: int, lag: Lag, end_offset: int | None = None) -> None:
        """Let a replica be behind from now on.

        Args:
            node_id: whose.
            lag: how far.
            end_offset: what it has; None for what it has now.
        """
        since_ms = self.behind_since_ms(node_id)
        end_offset = self.end_of(node_id) if end_offset is None else end_offset
        since_ms = self._steady_ms() if since_ms is None else since_ms
        self._behind[node_id] = _Behind(lag, end_offset, since_ms)

    def lags_below(self, offset: int) -> dict[int, tuple[Lag, int]]:
        """Return the lags and the ends of the replicas that have less than the log would have."""
        ends = {each: self.end_of(each) for each in self._behind}
        return {each: (self._behind[each].lag, end) for each, end in ends.items() if end < offset}

    def stop(self) -> None:
        """Let no replica get records while nobody leads."""
        if self._stopped_ms is None:
            self._stopped_ms = self._steady_ms()

    def go_on(self) -> None:
        """Let the replicas get records again, as each of them is behind."""
        self._stopped_ms = None

    @property
    def is_stopped(self) -> bool:
        """Whether nobody leads, so that no replica gets records."""
        return self._stopped_ms is not None

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
            had = bisect_right(self._ends, self._end_offset - lag.records)
        else:
            now_ms = self._steady_ms() if self._stopped_ms is None else self._stopped_ms
            had = bisect_right(self._times_ms, now_ms - lag.ms)
        return max(self._ends[had - 1], end_offset) if had else end_offset

    def high_watermark(self, end_offset: int, high_watermark: int) -> int:
        """Return the high watermark of the leader when its log ends at an offset.

        Args:
            end_offset: of the log.
            high_watermark: as it is; it never goes back.

        Rule: C-50 (Partition.maybeIncrementLeaderHW).
        """
        if end_offset > self._end_offset:
            self._end_offset = end_offset
            self._ends.append(end_offset)
            self._times_ms.append(self._steady_ms())
            if len(self._ends) > self._ends_max:
                self._ends = self._ends[::2]
                self._times_ms = self._times_ms[::2]
            self._on_append()
        self._seen = {each: self.end_of(each) for each in {*self.isr, *self._behind}}
        if self.is_short:
            return high_watermark
        lowest = min((self._seen[each] for each in self.isr), default=end_offset)
        return max(min(lowest, end_offset), high_watermark)

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
        return self._times_ms[bisect_right(self._ends, end_offset)]

    def next_change_ms(self) -> int | None:
        """Return when a replica gets more than it had when high_watermark() was called last.

        Returns:
            A time that may have passed; None if that needs an append or a leader.
        """
        due = None
        if self._stopped_ms is None:
            for node_id, behind in self._behind.items():
                missing = bisect_right(self._ends, self._seen.get(node_id, behind.end_offset))
                if behind.lag.ms and missing < len(self._ends):
                    change_ms = self._times_ms[missing] + behind.lag.ms
                    due = change_ms if due is None else min(due, change_ms)
        return due

    def forget_old_ends(self) -> None:
        """Forget the ends that no replica can have any more."""
        needed = min(
            (self.end_of(each) for each, one in self._behind.items() if not one.lag.is_frozen),
            default=self._end_offset,
        )
        old = max(bisect_right(self._ends, needed) - 1, 0)
        del self._ends[:old], self._times_ms[:old]
