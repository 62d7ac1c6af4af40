"""Work of a coordinator that nobody waits for, in slices between the requests of clients."""

from collections import deque
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Final

from broker_lite.control.coordinators.alarm import Alarm

SLICE_S: Final = 0.004
"""How long a slice may take before other connections have their turn."""
_AT_ONCE_MS: Final = 0


class Background:
    """Jobs that are run one after the other; used by one thread."""

    def __init__(self, alarm: Alarm, now_s: Callable[[], float] = perf_counter) -> None:
        """Begin without a job.

        Args:
            alarm: is told when there is a job.
            now_s: the machine's time.
        """
        self._alarm = alarm
        self._now_s = now_s
        self._jobs: deque[Iterator[None]] = deque()

    def add(self, job: Iterator[None]) -> None:
        """Have a job run.

        Args:
            job: yields after each step; a step takes a few milliseconds at most.
        """
        self._jobs.append(job)
        self._alarm.due_at(_AT_ONCE_MS)

    def next_deadline_ms(self) -> int | None:
        """Return when on_time() has to be called next: at once if there is a job."""
        return _AT_ONCE_MS if self._jobs else None

    def on_time(self) -> None:
        """Run jobs for one slice; a job that fails is not run any more, and its error is raised."""
        end_s = self._now_s() + SLICE_S
        while self._jobs:
            job = self._jobs[0]
            try:
                next(job)
            except StopIteration:
                self._jobs.remove(job)
            except Exception:
                self._jobs.remove(job)
                raise
            if self._now_s() >= end_s:
                return
