"""Computes latencies and rates of sent records, as kafka-producer-perf-test prints them.

Source: ProducerPerformance.Stats.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping
from typing import Final

MIB: Final = 1 << 20
_LATENCIES_MAX: Final = 500_000
_PERCENTILES: Final = (0.5, 0.95, 0.99, 0.999)


class _Sums:
    """Sums up the records since a moment.

    Attributes:
        count: number of records.
        bytes: size of their values.
    """

    def __init__(self, start_ms: float) -> None:
        self.start_ms = start_ms
        self.count = 0
        self.bytes = 0
        self.total_ms = 0
        self.max_ms = 0

    def add(self, latency_ms: int, size_bytes: int) -> None:
        """Add one acknowledged record."""
        self.count += 1
        self.bytes += size_bytes
        self.total_ms += latency_ms
        self.max_ms = max(self.max_ms, latency_ms)


class Statistics(_Sums):
    """Sums up all records, and those since the last report.

    Attributes:
        is_silent: whether to leave out reports.
    """

    def __init__(
        self,
        records_max: int,
        *,
        interval_ms: int,
        now_ms: Callable[[], float],
        steady: bool = False,
        tell: Callable[[str], None],
    ) -> None:
        """Start the clock.

        Args:
            records_max: expected number of records; above 500,000 only some latencies are kept.
            interval_ms: time between two reports.
            now_ms: the clock.
            steady: whether the records are those after the warm-up.
            tell: takes the lines of reports.
        """
        super().__init__(now_ms())
        self.is_silent = False
        self._every = max(1, records_max // _LATENCIES_MAX)
        self._interval_ms = interval_ms
        self._now_ms = now_ms
        self._steady = steady
        self._tell = tell
        self._latencies_ms = array("q")
        self._window = _Sums(self.start_ms)

    def add(self, latency_ms: int, size_bytes: int) -> None:  # type: ignore[explicit-override]
        """Add one acknowledged record."""
        if self.count % self._every == 0:
            self._latencies_ms.append(latency_ms)
        super().add(latency_ms, size_bytes)
        self._window.add(latency_ms, size_bytes)

    def report(self) -> None:
        """Report the records since the last report, if the interval has passed."""
        now_ms = self._now_ms()
        window = self._window
        elapsed_ms = now_ms - window.start_ms
        if not window.count or elapsed_ms < self._interval_ms:
            return
        if self._steady and self.count == window.count:
            self._tell("In steady state.")
        if not self.is_silent:
            self._tell(
                f"{window.count} records sent, {_rates(window.count, window.bytes, elapsed_ms, 1)},"
                f" {window.total_ms / window.count:.1f} ms avg latency,"
                f" {float(window.max_ms):.1f} ms max latency."
            )
        self._window = _Sums(now_ms)

    def total(self) -> str:
        """Return the line about all records."""
        elapsed_ms = self._now_ms() - self.start_ms
        average = f"{self.total_ms / self.count:.2f}" if self.count else "NaN"
        percentiles = ", ".join(
            f"{value} ms {100 * share:g}th"
            for share, value in zip(_PERCENTILES, self.percentiles(), strict=True)
        )
        return (
            f"{self.count}{' steady state' if self._steady else ''} records sent,"
            f" {_rates(self.count, self.bytes, elapsed_ms, 6)}, {average} ms avg latency,"
            f" {float(self.max_ms):.2f} ms max latency, {percentiles}."
        )

    def percentiles(self) -> list[int]:
        """Return the percentiles of the latencies in ms, chosen as in Kafka's tool."""
        found = sorted(self._latencies_ms)
        return [found[int(share * len(found))] if found else 0 for share in _PERCENTILES]


def metric_lines(group: str, client_id: str, counts: Mapping[str, int]) -> Iterator[str]:
    """Format counts like a Kafka client's metrics, with an empty line and a header."""
    names = {f"{group}:{name}:{{client-id={client_id}}}": counts[name] for name in sorted(counts)}
    width = max(map(len, names))
    yield ""
    yield f"{'Metric Name':<{width}}   Value"
    for name, count in names.items():
        yield f"{name:<{width}} : {count:.3f}"


def _rates(count: int, size_bytes: int, elapsed_ms: float, digits: int) -> str:
    """Format rates per second; a shorter time than a millisecond counts as one."""
    per_second = 1000 / max(elapsed_ms, 1)
    rate = f"{count * per_second:.{digits}f}"
    return f"{rate} records/sec ({size_bytes * per_second / MIB:.2f} MB/sec)"
