"""When records are due."""

import pytest

from broker_lite.commands.replay.merging import NO_TIME
from broker_lite.commands.replay.pace import Pace
from broker_lite.errors import SettingsError

TIMES = (NO_TIME, 1000, 1000, 1500, 61_500)


@pytest.mark.parametrize(
    ("rate", "longest_gap_ms", "expected"),
    [
        ("original", None, [0, 0, 0, 0.5, 60.5]),
        ("original", 2000, [0, 0, 0, 0.5, 2.5]),
        ("2x", None, [0, 0, 0, 0.25, 30.25]),
        ("0.5x", 2000, [0, 0, 0, 1, 5]),
        ("4/s", None, [0, 0.25, 0.5, 0.75, 1]),
        ("max", 2000, [0, 0, 0, 0, 0]),
    ],
)
def test_gaps(rate: str, longest_gap_ms: int | None, expected: list[float]) -> None:
    pace = Pace(rate, longest_gap_ms)
    assert [pace.due_s(time) for time in TIMES] == pytest.approx(expected)
    assert pace.is_unlimited == (rate == "max")


@pytest.mark.parametrize(
    "rate", ["", "0x", "0/s", "-1x", "fast", "1e9/s", "2X", "x", "10/min", "٢x"]
)
def test_what_is_no_rate(rate: str) -> None:
    with pytest.raises(SettingsError, match="original, 2x, 10000/s or max is expected"):
        Pace(rate)
