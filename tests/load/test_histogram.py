"""The histogram beside exact percentiles of sorted values."""

import random
from collections.abc import Sequence

import pytest

from broker_lite.load.histogram import VALUE_MAX, Histogram

SHARES = (0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0)


def histogram_of(values: Sequence[int]) -> Histogram:
    histogram = Histogram()
    for value in values:
        histogram.record(value)
    return histogram


def exact(values: Sequence[int], share: float) -> int:
    """The smallest value that this share of all values does not exceed."""
    found = sorted(values)
    return next(value for rank, value in enumerate(found, 1) if rank >= share * len(found))


@pytest.mark.parametrize("bits", [4, 6, 7, 12, 30, 50, 63])
def test_percentiles_are_at_most_a_32th_too_large(bits: int) -> None:
    source = random.Random(bits)
    values = [source.getrandbits(source.randint(1, bits)) for _ in range(2000)]
    histogram = histogram_of(values)
    for share in SHARES:
        true = exact(values, share)
        assert true <= histogram.percentile(share) <= true + true / 32


def test_small_values_are_exact() -> None:
    values = list(range(64))
    histogram = histogram_of(values)
    for share in SHARES:
        assert histogram.percentile(share) == exact(values, share)


def test_the_ends_of_each_power_of_two() -> None:
    for bits in range(63):
        for value in (1 << bits, (1 << bits) + 1, (2 << bits) - 1):
            assert value <= histogram_of([value, VALUE_MAX]).percentile(0.5) <= value * 33 / 32


def test_count_sum_mean_and_maximum_are_exact() -> None:
    histogram = histogram_of([1, 1000, 1_000_003])
    histogram.record(7, 3)
    assert (histogram.count, histogram.total, histogram.max) == (6, 1_001_025, 1_000_003)
    assert histogram.mean == pytest.approx(1_001_025 / 6)
    assert histogram.percentile(1) == 1_000_003


def test_two_histograms_become_one() -> None:
    histogram = histogram_of([5, 500])
    histogram.add(histogram_of([50_000, 7]))
    both = histogram_of([5, 500, 50_000, 7])
    assert [histogram.percentile(share) for share in SHARES] == [
        both.percentile(share) for share in SHARES
    ]
    assert (histogram.count, histogram.total, histogram.max) == (4, 50_512, 50_000)


def test_without_values_all_is_0() -> None:
    histogram = Histogram()
    assert (histogram.percentile(0.99), histogram.mean, histogram.max) == (0, 0, 0)
