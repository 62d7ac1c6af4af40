"""What a process of a load has to run, and what it has counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from broker_lite.load.recorder import Recorder, Second

MAIN = "main"
"""The name of the recorder whose figures are told first."""


class Runnable(Protocol):
    """A run, of requests or of idle connections; see broker_lite.load.run."""

    @property
    def partitions(self) -> int:
        """How many partitions have a leader."""

    @property
    def connections(self) -> int:
        """How many connections there are."""

    def open(self) -> None:
        """Open all connections, or raise ClientError."""

    def run(self, seconds: float, *, start_ns: int | None = None) -> None:
        """Send for so long, from a moment on."""

    def stop(self) -> None:
        """End the run as soon as possible."""


class Hooks(NamedTuple):
    """Who is told of a run.

    Attributes:
        on_second: at the end of each second.
        on_measured: when the warm-up is over.
        on_finished: at the end.
    """

    on_second: Callable[[Second], None] = lambda _: None
    on_measured: Callable[[], None] = lambda: None
    on_finished: Callable[[], None] = lambda: None

    def recorder(self, warmup_s: float) -> Recorder:
        """Return the main recorder of a run."""
        return Recorder(
            warmup_s=warmup_s,
            on_second=self.on_second,
            on_measured=self.on_measured,
            on_finished=self.on_finished,
        )


class Worker(NamedTuple):
    """A run with what it counts.

    Attributes:
        run: not begun.
        recorders: by name; MAIN is the one of the hooks.
        totals: returns further counts at the end; those of several processes are added.
    """

    run: Runnable
    recorders: Mapping[str, Recorder]
    totals: Callable[[], Mapping[str, int]] = dict
