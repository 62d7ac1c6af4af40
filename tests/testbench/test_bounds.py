"""The bounds of numbers in requests of the control API."""

import msgspec
import pytest

from broker_lite.testbench.bounds import (
    LISTED_MAX,
    TIMEOUT_MS_MAX,
    AdvanceMs,
    Limit,
    TimeoutMs,
)


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [(Limit, 1, LISTED_MAX), (TimeoutMs, 0, TIMEOUT_MS_MAX), (AdvanceMs, 0, 315_360_000_000)],
)
def test_numbers_are_in_their_bounds(kind: object, low: int, high: int) -> None:
    for number in (low, high):
        assert msgspec.convert(number, kind) == number  # type: ignore[call-overload]
    for number in (low - 1, high + 1, 2**200, -(2**200)):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(number, kind)  # type: ignore[call-overload]
