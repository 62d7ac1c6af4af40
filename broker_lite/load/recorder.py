"""Counts what became of the requests of a run: by second, by phase and in all.

A run has two phases: the warm-up, and what is measured. An answer belongs to the second and the
phase in which it arrives. Answers that arrive after the end, and requests that were due and never
answered, count in the latencies only: without them a broker that stalls at the end would look fast.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from broker_lite.load.tally import NS_PER_MS, NS_PER_S, Phase, Second, Tally

__all__ = ["NS_PER_MS", "NS_PER_S", "Phase", "Recorder", "Second", "Tally"]

_STEPS_MAX: Final = 1000
_BY_NAME: Final = ("errors", "retries")
_SUMS: Final = (
    "accepted_records",
    "refused",
    "unanswered",
    "unsent",
    "throttles",
    "throttled_ms",
)


class Recorder:
    """The counts of one run; the caller tells the time with each.

    Attributes:
        warmup: the first phase.
        measured: the second one.
        seconds: all that have ended.
        last: the counts of the last one.
        accepted_records: answered without an error in both phases, and after them.
        errors: counts by name.
        reasons: the last text for a name that has one.
        retries: how many requests were sent again, or will be, by the name of the error.
        refused: requests that the broker refused for good.
        unanswered: requests that were sent, and open at the end.
        unsent: requests that were due, and had not been sent at the end.
        throttles: how often the broker asked to send nothing for a while.
        throttled_ms: for how long, over all connections.
    """

    def __init__(
        self,
        *,
        warmup_s: float,
        on_second: Callable[[Second], None] = lambda _: None,
        on_measured: Callable[[], None] = lambda: None,
        on_finished: Callable[[], None] = lambda: None,
    ) -> None:
        """Count nothing yet.

        Args:
            warmup_s: the length of the first phase; 0 for none.
            on_second: called at the end of each second.
            on_measured: called when the second phase begins.
            on_finished: called when it ends.
        """
        self.warmup = Phase()
        self.measured = Phase()
        self.seconds: list[Second] = []
        self.last = Tally()
        self.accepted_records = 0
        self.errors: Counter[str] = Counter()
        self.reasons: dict[str, str] = {}
        self.retries: Counter[str] = Counter()
        self.refused = self.unanswered = self.unsent = 0
        self.throttles = self.throttled_ms = 0
        self._warmup_ns = int(warmup_s * NS_PER_S)
        self._on_second = on_second
        self._on_measured = on_measured
        self._on_finished = on_finished
        self._start_ns = self._second_began_ns = self._second_ends_ns = 0
        self._phase = self.warmup
        self._tally = Tally()
        self._is_over = False

    def begin(self, now_ns: int) -> None:
        """Start the clock."""
        self._start_ns = self._second_began_ns = now_ns
        for phase in (self.warmup, self.measured):
            phase.began_ns = phase.ended_ns = now_ns
        if not self._warmup_ns:
            self._measure(now_ns)
        self._next_second()

    def answered(self, now_ns: int, due_ns: int, records: int, size_bytes: int) -> None:
        """Count an answer without an error.

        Args:
            now_ns: when it arrived.
            due_ns: when its request was due.
            records: that it acknowledges or has.
            size_bytes: of these records as they are sent: batches with their headers, compressed.
        """
        self.accepted_records += records
        if self._is_over:
            self.open_for(now_ns - due_ns)
            return
        if now_ns >= self._second_ends_ns:
            self.tick(now_ns)
        tally = self._tally
        tally.requests += 1
        tally.records += records
        tally.bytes += size_bytes
        tally.latencies_ns.record(max(now_ns - due_ns, 0))

    def error(self, name: str, reason: str = "") -> None:
        """Count an error by its name."""
        self.errors[name] += 1
        self._tally.errors += 1
        if reason:
            self.reasons[name] = reason

    def retry(self, name: str) -> None:
        """Count a request that is sent again, by the error that it met."""
        self.retries[name] += 1

    def throttled(self, throttle_ms: int) -> None:
        """Count a pause that the broker asked for."""
        self.throttles += 1
        self.throttled_ms += throttle_ms

    def open_for(self, latency_ns: int, count: int = 1) -> None:
        """Count the latency of requests that were not answered before the end."""
        self.measured.latencies_ns.record(max(latency_ns, 0), count)

    def never_sent(self, first_due_ns: int, last_due_ns: int, count: int, now_ns: int) -> None:
        """Count requests that were due at even distances, and never left.

        The first and the last were due at the given moments. Many are counted in steps.
        """
        self.unsent += count
        steps = min(count, _STEPS_MAX)
        for step in range(steps):
            size = (step + 1) * count // steps - step * count // steps
            due_ns = first_due_ns + (last_due_ns - first_due_ns) * step // max(steps - 1, 1)
            self.open_for(now_ns - due_ns, size)

    def tick(self, now_ns: int) -> None:
        """End the seconds that are over."""
        while now_ns >= self._second_ends_ns and not self._is_over:
            self._end_second(self._second_ends_ns)
            if self._phase is self.warmup and self._second_began_ns >= self._measured_at_ns:
                self._measure(self._second_began_ns)
            self._next_second()

    def finish(self, now_ns: int) -> None:
        """End the last second and phase; later answers count as late."""
        self.tick(now_ns)
        if now_ns > self._second_began_ns:
            self._end_second(now_ns)
        if self._phase is self.warmup:
            self.measured.began_ns = self.measured.ended_ns = now_ns
        self._is_over = True
        self._on_finished()

    @property
    def _measured_at_ns(self) -> int:
        return self._start_ns + self._warmup_ns

    def _measure(self, now_ns: int) -> None:
        self._phase = self.measured
        self.measured.began_ns = self.measured.ended_ns = now_ns
        self._on_measured()

    def _next_second(self) -> None:
        self._second_ends_ns = self._second_began_ns + NS_PER_S
        if self._phase is self.warmup:
            self._second_ends_ns = min(self._second_ends_ns, self._measured_at_ns)

    def _end_second(self, now_ns: int) -> None:
        length_s = (now_ns - self._second_began_ns) / NS_PER_S
        self._phase.ended_ns = now_ns
        self._phase.add(self._tally)
        self._second_began_ns = now_ns
        tally, self._tally = self._tally, Tally()
        self.add_second(
            tally,
            end_s=(now_ns - self._start_ns) / NS_PER_S,
            length_s=length_s,
            is_warmup=self._phase is self.warmup,
        )

    # -- several processes

    def add_second(self, tally: Tally, *, end_s: float, length_s: float, is_warmup: bool) -> None:
        """Add the counts of a second that has ended."""
        self.last = tally
        second = tally.second(end_s=end_s, length_s=length_s, is_warmup=is_warmup)
        self.seconds.append(second)
        self._on_second(second)

    def as_data(self) -> dict[str, Any]:
        """Return all counts but the seconds, for add_data() in another process."""
        return {
            "warmup": self.warmup.as_data(),
            "measured": self.measured.as_data(),
            "reasons": self.reasons,
            **{name: dict(getattr(self, name)) for name in _BY_NAME},
            **{name: getattr(self, name) for name in _SUMS},
        }

    def add_data(self, data: Mapping[str, Any]) -> None:
        """Add the counts of another process that ran at the same time."""
        self.warmup.add_data(data["warmup"])
        self.measured.add_data(data["measured"])
        self.reasons |= data["reasons"]
        for name in _BY_NAME:
            getattr(self, name).update(data[name])
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + data[name])
