"""Axes: where a value lies, which ticks there are, and how values are written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

_STEPS_MAX: Final = 6
_DECADES_WITH_STEPS_MAX: Final = 2.5
_MS_PER_S: Final = 1000
_US_PER_MS: Final = 1000


class Scale(NamedTuple):
    """An axis from `low` to `high`, drawn from `start` to `end`.

    Attributes:
        is_log: whether each power of ten takes the same room; `low` is above 0, then.
    """

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def at(self, value: float) -> float:
        """Return where a value lies; one outside of the axis lies at its end."""
        value = min(max(value, self.low), self.high)
        if self.is_log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> Sequence[float]:
        """Return the values to be marked."""
        if self.is_log:
            return _log_ticks(self.low, self.high)
        step = _nice_step((self.high - self.low) / _STEPS_MAX)
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, int(self.high / step + 1e-9) + 1)]


def linear(values: Sequence[float], start: float, end: float) -> Scale:
    """Return an axis from 0 to a bit above the largest value."""
    highest = max(values, default=0.0) or 1.0
    step = _nice_step(highest / (_STEPS_MAX - 1))
    return Scale(0.0, math.ceil(highest / step + 0.01) * step, start, end)


def logarithmic(values: Sequence[float], start: float, end: float) -> Scale:
    """Return an axis around all values above 0."""
    found = [value for value in values if value > 0]
    low, high = min(found, default=1.0), max(found, default=10.0)
    low, high = low / 1.25, high * 1.25
    return Scale(low, max(high, low * 3), start, end, is_log=True)


def _nice_step(rough: float) -> float:
    """Return 1, 2 or 5 times a power of ten, at least as large."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)


def _log_ticks(low: float, high: float) -> Sequence[float]:
    decades = math.log10(high / low)
    factors = (1, 2, 5) if decades <= _DECADES_WITH_STEPS_MAX else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [factor * 10.0**power for power in powers for factor in factors]
    return [value for value in every if low <= value <= high]


def plain_text(value: float) -> str:
    """Write a number with three significant digits, or all of a large one."""
    if value >= 1000 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def ms_text(ms: float) -> str:
    """Write a latency in a unit that fits."""
    if ms >= _MS_PER_S:
        return f"{plain_text(ms / _MS_PER_S)} s"
    if ms >= 1 or not ms:
        return f"{plain_text(ms)} ms"
    return f"{plain_text(ms * _US_PER_MS)} µs"


def seconds_text(seconds: float) -> str:
    """Write a moment of a run."""
    return f"{plain_text(seconds)} s"


def percent_text(share: float) -> str:
    """Write a share of all."""
    percent = share * 100
    if percent >= 100:
        return "100 %"
    return f"{percent:.3f}".rstrip("0").rstrip(".") + " %"
