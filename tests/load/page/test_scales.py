"""Axes: ticks, places, and how values are written."""

import pytest

from broker_lite.load.page.scales import (
    Scale,
    linear,
    logarithmic,
    ms_text,
    percent_text,
    plain_text,
    seconds_text,
)


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([], [0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2]),
        ([0, 0], [0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2]),
        ([3, 9], [0, 2, 4, 6, 8, 10]),
        ([230], [0, 50, 100, 150, 200, 250]),
        ([1e12], [n * 2e11 for n in range(7)]),
    ],
)
def test_a_linear_axis(values: list[float], ticks: list[float]) -> None:
    scale = linear(values, 0, 100)
    assert scale.ticks() == pytest.approx(ticks)
    assert scale.high > max(values, default=0)


def test_a_logarithmic_axis() -> None:
    assert logarithmic([0.3, 0, 40], 0, 100).ticks() == pytest.approx([0.5, 1, 2, 5, 10, 20, 50])
    assert logarithmic([0.01, 9000], 0, 100).ticks() == pytest.approx(
        [0.01, 0.1, 1, 10, 100, 1000, 10_000]
    )
    for values in ([], [0.0], [7.0], [1e-9, 1e17]):
        scale = logarithmic(values, 0, 100)
        assert 0 < scale.low < scale.high
        assert scale.ticks()


def test_where_a_value_lies() -> None:
    scale = Scale(0, 10, 100, 200)
    assert [scale.at(value) for value in (-5, 0, 2.5, 10, 11)] == [100, 100, 125, 200, 200]
    scale = Scale(1, 100, 200, 100, is_log=True)
    assert [scale.at(value) for value in (0, 1, 10, 100, 1e9)] == [200, 200, 150, 100, 100]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (plain_text(0), "0"),
        (plain_text(1234567.8), "1,234,568"),
        (plain_text(12.345), "12.3"),
        (ms_text(0), "0 ms"),
        (ms_text(0.25), "250 µs"),
        (ms_text(3.14159), "3.14 ms"),
        (ms_text(1500), "1.5 s"),
        (seconds_text(5), "5 s"),
        (percent_text(0.5), "50 %"),
        (percent_text(0.99999), "99.999 %"),
        (percent_text(1), "100 %"),
    ],
)
def test_how_values_are_written(text: str, expected: str) -> None:
    assert text == expected
