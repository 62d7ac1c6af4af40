"""A share partition, its log of record batches, and members that acquire and acknowledge."""

import sys
from collections.abc import Callable, Sequence

from broker_lite.coordinator.share_records.acknowledge import (
    Acknowledgement,
    acknowledge,
    checked_acknowledgements,
)
from broker_lite.coordinator.share_records.acquire import (
    Range,
    Wish,
    acquire,
    last_wanted,
    may_acquire,
)
from broker_lite.coordinator.share_records.held_states import RUN_BYTES, HeldStates
from broker_lite.coordinator.share_records.missing import archive_missing
from broker_lite.coordinator.share_records.partition import SharePartition
from broker_lite.coordinator.share_records.settings import ShareSettings
from broker_lite.coordinator.share_records.state import (
    RecordState,
    StateBatch,
    StateUpdate,
    overlay,
)

LOCK_MS = 30_000


class Driver:
    """Record batches of a log, a share partition of it, and what is kept.

    Attributes:
        batches: the record batches, in order.
        kept: what was written of the share partition.
        kept_start: the start offset that was written.
        held: counts the runs of records.
    """

    def __init__(self, *sizes: int, runs_max: int = 1 << 40, **settings: object) -> None:
        self.held = HeldStates(runs_max * RUN_BYTES)
        self.settings = ShareSettings(**settings)  # type: ignore[arg-type]
        self.batches: list[Range] = []
        for size in sizes:
            self.append(size)
        self.now_ms = 0
        self.kept: list[StateBatch] = []
        self.kept_start = 0
        self.updates: list[StateUpdate] = []
        self.partition = SharePartition(0, (), self.settings, self.held)

    def append(self, size: int) -> None:
        first = self.batches[-1].last + 1 if self.batches else 0
        self.batches.append(Range(first, first + size - 1))

    def fetch(
        self, member: str = "m", count: int = 500, batch: int = 500, *, strict: bool = False
    ) -> list[tuple[int, int, int]]:
        partition = self.partition
        wish = Wish(member, count, batch, strict)
        if not may_acquire(partition, wish):
            return []
        first, last = partition.next_offset(), last_wanted(partition, wish)
        fetched = []
        for each in self.batches:
            if each.last >= first:
                fetched.append(each)
                if each.last >= last:
                    break
        self.keep(archive_missing(partition, fetched, first))
        return [tuple(one) for one in acquire(partition, wish, fetched, self.now_ms + LOCK_MS)]  # type: ignore[misc]

    def say(
        self, *said: tuple[int, int, Sequence[int]], member: str = "m", renew: bool = False
    ) -> None:
        named = [Acknowledgement(*each) for each in said]
        batches = [*checked_acknowledgements(named, may_renew=renew)]
        self.keep(acknowledge(self.partition, member, batches, self.now_ms))

    def keep(self, update: StateUpdate | None) -> None:
        if update is not None:
            self.updates.append(update)
            self.kept_start = max(self.kept_start, update.start_offset)
            self.kept = overlay(self.kept, update.batches, self.kept_start)

    def wait(self, ms: int) -> None:
        self.now_ms += ms
        self.keep(self.partition.on_time(self.now_ms))

    def restart(self) -> None:
        self.partition.in_flight.let_go()
        self.partition = SharePartition(self.kept_start, self.kept, self.settings, self.held)

    def check_counts(self) -> None:
        """Compare what is counted with what there is."""
        partition = self.partition
        runs = [run for batch in partition.in_flight.batches for run in batch.runs]
        start = partition.start_offset
        assert self.held.run_count == partition.in_flight.run_count == len(runs)
        assert partition.complete_count == sum(
            max(run.last - max(run.first, start) + 1, 0) for run in runs if run.is_final
        )
        available = [run.first for run in runs if run.state is RecordState.AVAILABLE]
        assert partition.next_offset() == min(available, default=partition.end_offset + 1)


def calls_of(function: Callable[[], object]) -> int:
    """Return how many calls and generator steps a function takes: a cost that no clock changes."""
    count = 0

    def tell(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(tell)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count
