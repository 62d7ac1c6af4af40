import pytest

from broker_lite.commands.shared.moments import parse_ago, parse_moment
from broker_lite.errors import SettingsError


@pytest.mark.parametrize(
    ("text", "moment_ms"),
    [
        ("1970-01-01T00:00:00.000", 0),
        ("1970-01-01T00:00:01.5", 1500),
        ("1970-01-01T01:00:00.000+01:00", 0),
        ("2020-01-01T00:00:00Z", 1577836800000),
    ],
)
def test_moments(text: str, moment_ms: int) -> None:
    assert parse_moment(text) == moment_ms


@pytest.mark.parametrize("text", ["", "x", "2020-01-01", "2020-01-01 00:00:00", "2020-13-01T00:00"])
def test_no_moments(text: str) -> None:
    with pytest.raises(SettingsError, match="not a moment"):
        parse_moment(text)


@pytest.mark.parametrize(
    ("text", "duration_ms"),
    [
        ("PT0S", 0),
        ("PT1.5S", 1500),
        ("P1DT2H3M4S", 93_784_000),
        ("p2d", 172_800_000),
        ("-PT1M", -60_000),
        ("PT-1M", -60_000),
    ],
)
def test_durations(text: str, duration_ms: int) -> None:
    assert parse_ago(text, 2_000_000_000_000) == 2_000_000_000_000 - duration_ms


@pytest.mark.parametrize("text", ["", "xx", "P", "PT", "P1DT", "1D", "PT1S2M", "P1.5D"])
def test_no_durations(text: str) -> None:
    with pytest.raises(SettingsError, match="not a duration"):
        parse_ago(text, 0)


def test_too_long_a_duration() -> None:
    for text in (
        "P9999999999999999D",
        "P106752991167D",
        "-P106752991167D",
        "PT1" + "0" * 5000 + "S",
    ):
        with pytest.raises(SettingsError, match="too long"):
            parse_ago(text, 2_000_000_000_000)
