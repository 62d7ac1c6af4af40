"""The counts of a second or of a phase, and the figures that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from broker_lite.load.histogram import Histogram

NS_PER_S: Final = 1_000_000_000
NS_PER_MS: Final = 1_000_000


class Second(NamedTuple):
    """The figures of one second; the last one of a phase may be shorter.

    Attributes:
        end_s: since the start of the run.
        length_s: 1, or less.
        errors: how many were counted in it.
        p50_ms: of the answers that arrived in it, like p99_ms and max_ms; 0 without answers.
    """

    end_s: float
    length_s: float
    is_warmup: bool
    requests: int
    records: int
    bytes: int
    errors: int
    p50_ms: float
    p99_ms: float
    max_ms: float


class Tally:
    """Counts of some time.

    Attributes:
        requests: that were answered without an error.
        records: that they acknowledged or had.
        bytes: of these records.
        errors: how many.
        latencies_ns: of the requests.
    """

    def __init__(self) -> None:
        self.requests = self.records = self.bytes = self.errors = 0
        self.latencies_ns = Histogram()

    def add(self, other: Tally) -> None:
        """Add the counts of another time, or of another process."""
        self.requests += other.requests
        self.records += other.records
        self.bytes += other.bytes
        self.errors += other.errors
        self.latencies_ns.add(other.latencies_ns)

    def second(self, *, end_s: float, length_s: float, is_warmup: bool) -> Second:
        """Return the figures, if these are the counts of a second."""
        latencies_ns = self.latencies_ns
        return Second(
            end_s=end_s,
            length_s=length_s,
            is_warmup=is_warmup,
            requests=self.requests,
            records=self.records,
            bytes=self.bytes,
            errors=self.errors,
            p50_ms=latencies_ns.percentile(0.5) / NS_PER_MS,
            p99_ms=latencies_ns.percentile(0.99) / NS_PER_MS,
            max_ms=latencies_ns.max / NS_PER_MS,
        )

    def as_data(self) -> list[Any]:
        """Return what JSON can hold, and from_data() reads."""
        counts = [self.requests, self.records, self.bytes, self.errors]
        return [*counts, self.latencies_ns.as_data()]

    @classmethod
    def from_data(cls, data: Sequence[Any]) -> Tally:
        """Return the counts of as_data()."""
        tally = cls()
        tally.requests, tally.records, tally.bytes, tally.errors, latencies = data
        tally.latencies_ns = Histogram.from_data(latencies)
        return tally


class Phase(Tally):
    """The counts of a phase, and when it was."""

    def __init__(self) -> None:
        super().__init__()
        self.began_ns = 0
        self.ended_ns = 0

    @property
    def length_s(self) -> float:
        """How long it was."""
        return (self.ended_ns - self.began_ns) / NS_PER_S

    def as_data(self) -> list[Any]:  # type: ignore[explicit-override]
        """Return what JSON can hold, and add_data() reads."""
        return [self.began_ns, self.ended_ns, super().as_data()]

    def add_data(self, data: Sequence[Any]) -> None:
        """Add the counts of the same phase in another process."""
        began_ns, ended_ns, tally = data
        self.began_ns = min(self.began_ns or began_ns, began_ns)
        self.ended_ns = max(self.ended_ns, ended_ns)
        self.add(Tally.from_data(tally))
