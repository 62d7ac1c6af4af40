"""Counts values in log-linear buckets, for percentiles over any number of values.

Values below 64 have a bucket each. Above, each power of two has 32 buckets, so a bucket is at most
1/32 of its values wide. Recording takes 0.5 microseconds and no memory.
"""

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Final

_LINEAR_BITS: Final = 6
_BUCKET_BITS: Final = 5  # buckets of a power of two, as a power of two
_VALUE_BITS: Final = 63
VALUE_MAX: Final = 2**_VALUE_BITS - 1
_SHIFT_MAX: Final = _VALUE_BITS - _LINEAR_BITS
_BUCKETS: Final = (_SHIFT_MAX + 2) << _BUCKET_BITS


class Histogram:
    """Counts of values from 0 to VALUE_MAX.

    Attributes:
        count: how many values.
        total: the sum of the values, exact.
        max: the largest value, exact; 0 without values.
    """

    __slots__ = ("_counts", "count", "max", "total")

    def __init__(self) -> None:
        self._counts = array("Q", bytes(8 * _BUCKETS))
        self.count = 0
        self.total = 0
        self.max = 0

    def record(self, value: int, count: int = 1) -> None:
        """Count a value.

        Args:
            value: 0 to VALUE_MAX.
            count: how often it occurred.
        """
        shift = value.bit_length() - _LINEAR_BITS
        index = value if shift <= 0 else (shift << _BUCKET_BITS) + (value >> shift)
        self._counts[index] += count
        self.count += count
        self.total += value * count
        if value > self.max:
            self.max = value

    def add(self, other: "Histogram") -> None:
        """Count everything that another histogram has counted."""
        counts = self._counts
        for index, count in enumerate(other._counts):
            if count:
                counts[index] += count
        self.count += other.count
        self.total += other.total
        self.max = max(self.max, other.max)

    def percentile(self, share: float) -> int:
        """Return a value that at least this share of all values does not exceed.

        Args:
            share: 0 to 1.

        Returns:
            The largest value of the bucket, so at most 1/32 above the exact percentile and never
            below it; 0 without values.
        """
        wanted = max(1, -int(-share * self.count // 1))  # rounded up
        seen = 0
        for index, count in self._filled():
            seen += count
            if seen >= wanted:
                return min(_largest(index), self.max)
        return self.max

    def buckets(self) -> Iterator[tuple[int, int]]:
        """Yield the largest value and the count of each bucket that has any, in order."""
        return ((min(_largest(index), self.max), count) for index, count in self._filled())

    def as_data(self) -> list[object]:
        """Return what JSON can hold, and from_data() reads."""
        return [self.total, self.max, list(self._filled())]

    @classmethod
    def from_data(cls, data: Sequence[Any]) -> "Histogram":
        """Return the histogram of as_data(); nothing is lost on the way."""
        histogram = cls()
        histogram.total, histogram.max, filled = data
        for index, count in filled:
            histogram._counts[index] = count
            histogram.count += count
        return histogram

    @property
    def mean(self) -> float:
        """The mean of all values; 0 without values."""
        return self.total / self.count if self.count else 0.0

    def _filled(self) -> Iterator[tuple[int, int]]:
        return ((index, count) for index, count in enumerate(self._counts) if count)


def _largest(index: int) -> int:
    """Return the largest value of a bucket."""
    shift = (index >> _BUCKET_BITS) - 1
    if shift <= 0:
        return index
    first = (index - (shift << _BUCKET_BITS)) << shift
    return first + (1 << shift) - 1
