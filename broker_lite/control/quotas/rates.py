"""Rates that are compared with a quota: sampled windows, and a bucket of tokens.

Both take the time as an argument, in milliseconds that never go backwards.
"""

import math
from typing import Final, NamedTuple

_MS_PER_S: Final = 1000
_INT32_RANGE: Final = 2**32
_INT32_MAX: Final = 2**31 - 1
_INT64_MAX: Final = 2**63 - 1


class Windows(NamedTuple):
    """How long is looked back: `samples` windows, of which the last one is not over yet.

    Attributes:
        samples: quota.window.num, at least 1.
        window_ms: quota.window.size.seconds, in milliseconds.
    """

    samples: int = 11
    window_ms: int = 1000

    @property
    def span_ms(self) -> int:
        """The time of all windows."""
        return self.samples * self.window_ms


class SampledRate:
    """The rate of a quantity per second, from the sums of the last windows.

    A window begins with the first amount after the end of the one before, so idle time belongs to
    no window. Windows that are missing count as empty ones: a burst of a client that was idle is
    spread over the time of all windows.

    Rule: X-81 (Rate, SampledStat, WindowedSum).
    """

    __slots__ = ("_samples",)

    def __init__(self) -> None:
        """Begin with nothing recorded."""
        # Of each window: its beginning, its last amount's time, and the sum; the oldest is first.
        self._samples: list[tuple[int, int, float]] = []

    def record(self, amount: float, windows: Windows, now_ms: int) -> None:
        """Add an amount; a negative one takes back what was added before."""
        samples = self._samples
        if samples:
            began_ms, _, total = samples[-1]
            if now_ms - began_ms < windows.window_ms:
                samples[-1] = (began_ms, now_ms, total + amount)
                return
        samples.append((now_ms, now_ms, amount))
        # as many as may overlap the time that is looked back at
        if len(samples) > windows.samples + 1:
            del samples[0]

    def measure(self, windows: Windows, now_ms: int) -> tuple[float, int]:
        """Return the rate per second, and the time in milliseconds that it was taken over."""
        samples, span_ms = self._samples, windows.span_ms
        while samples and now_ms - samples[0][1] >= span_ms:
            del samples[0]
        elapsed_ms = now_ms - samples[0][0] if samples else 0
        missing = windows.samples - 1 - elapsed_ms // windows.window_ms
        if missing > 0:
            elapsed_ms += missing * windows.window_ms
        elapsed_ms = max(elapsed_ms, 1)
        total = math.fsum(sample[2] for sample in samples)
        return total / (elapsed_ms / _MS_PER_S), elapsed_ms

    def throttle_ms(self, quota: float, windows: Windows, now_ms: int) -> int:
        """Return how long nothing may be added until the rate is down to the quota.

        Returns:
            Milliseconds, 0 if the rate is within the quota.

        Rule: X-82 (QuotaUtils.throttleTime).
        """
        rate, elapsed_ms = self.measure(windows, now_ms)
        return 0 if rate <= quota else _rounded((rate - quota) / quota * elapsed_ms)


class TokenBucket:
    """Tokens that come back with time, up to as many as all windows together have.

    Rule: X-86 (TokenBucket).
    """

    __slots__ = ("_since_ms", "_tokens")

    def __init__(self) -> None:
        """Begin with a full bucket."""
        self._tokens = math.inf
        self._since_ms = 0

    def take(self, count: float, quota: float, windows: Windows, now_ms: int) -> None:
        """Take tokens, even if there are too few of them."""
        self._refill(quota, windows, now_ms)
        self._tokens = min(_burst(quota, windows), self._tokens - count)

    def throttle_ms(self, quota: float, windows: Windows, now_ms: int) -> int:
        """Return how long it takes until no token is owed any more; 0 if none is."""
        self._refill(quota, windows, now_ms)
        if self._tokens >= 0:
            return 0
        return _rounded(-self._tokens / quota * _MS_PER_S)

    def _refill(self, quota: float, windows: Windows, now_ms: int) -> None:
        gained = quota * ((now_ms - self._since_ms) / _MS_PER_S)
        self._tokens = min(_burst(quota, windows), self._tokens + gained)
        self._since_ms = now_ms


def _burst(quota: float, windows: Windows) -> float:
    return windows.samples * (windows.window_ms / _MS_PER_S) * quota


def as_int32(throttle_ms: int) -> int:
    """Return the lower 32 bits of a throttle time, which is all that Kafka keeps of it.

    So a client that is above its quota by months is throttled for another time, or not at all.
    """
    return (throttle_ms + _INT32_MAX + 1) % _INT32_RANGE - _INT32_MAX - 1


def _rounded(throttle_ms: float) -> int:
    """Round as Java does: halves up, into 64 bits, and what is no number becomes 0."""
    if math.isnan(throttle_ms):
        return 0
    return math.floor(min(throttle_ms + 0.5, _INT64_MAX))
