"""Distributions as tables of quantiles, and what is wrong with a specification of one."""

import pytest

from broker_lite.pipeline.generate.distributions import SpecError, mean_of, quantiles


def test_a_number_is_a_constant() -> None:
    assert set(quantiles(7)) == {7}
    assert mean_of(quantiles(7)) == 7
    assert set(quantiles(0)) == {0}


def test_uniform() -> None:
    table = quantiles({"distribution": "uniform", "min": 10, "max": 109})
    assert (table[0], table[512], table[1024]) == (10, 60, 110)
    assert mean_of(table) == pytest.approx(59.5, abs=1)


def test_normal() -> None:
    table = quantiles({"distribution": "normal", "mean": 500, "deviation": 100})
    assert table[512] == 500
    assert mean_of(table) == pytest.approx(500, abs=2)
    assert (table[1024 * 16 // 100], table[1024 * 84 // 100]) == pytest.approx((400, 600), abs=3)
    assert quantiles({"distribution": "normal", "mean": 1, "deviation": 100})[0] == 0


def test_lognormal_with_a_limit() -> None:
    given = {"distribution": "lognormal", "median": 300, "sigma": 1.0, "max": 1000}
    table = quantiles(given)
    assert table[512] == 300
    assert table[1024] == 1000
    assert mean_of(table) < 500


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.5])
def test_zipf_counts_from_0(exponent: float) -> None:
    table = quantiles({"distribution": "zipf", "count": 1000, "exponent": exponent})
    assert table[0] == 0
    assert table[1024] in (999, 1000)
    assert list(table) == sorted(table)
    assert table[512] < 500


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (-1, "a number from 0 to"),
        (True, "a whole number, or a table"),
        ("100", "a whole number, or a table with distribution = uniform, normal"),
        ({"distribution": "cauchy"}, "a whole number, or a table"),
        ({"distribution": "uniform", "min": 1}, "max, min are needed"),
        ({"distribution": "normal", "mean": 1, "deviation": 1, "mode": 1}, "are needed, max is"),
        ({"distribution": "uniform", "min": 5, "max": 4}, "max = 4 is below min = 5"),
        ({"distribution": "normal", "mean": "x", "deviation": 1}, "mean = 'x': a number"),
        ({"distribution": "zipf", "count": 0, "exponent": 1}, "count = 0: a number from 1"),
    ],
)
def test_what_is_no_distribution(spec: object, text: str) -> None:
    with pytest.raises(SpecError, match=text):
        quantiles(spec)
