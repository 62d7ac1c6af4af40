"""Patterns of Java's SimpleDateFormat."""

from datetime import UTC, datetime

import pytest

from broker_lite.commands.perf.java_dates import java_date
from broker_lite.errors import SettingsError

MOMENT = datetime(2026, 3, 4, 17, 6, 7, 89_000, UTC)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd HH:mm:ss:SSS", "2026-03-04 17:06:07:089"),
        ("d.M.yy h 'o''clock'", "4.3.26 5 o'clock"),
        ("y''", "2026'"),
        ("", ""),
    ],
)
def test_what_is_printed(pattern: str, text: str) -> None:
    assert java_date(pattern)(MOMENT) == text


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("EEE", "EEE is not supported, only yMdHhmsS are"),
        ("MMM", "MMM is not supported, only yMdHhmsS are"),
        ("yyyy 'T", "a quote is not closed"),
    ],
)
def test_what_is_not_known(pattern: str, message: str) -> None:
    with pytest.raises(SettingsError) as refused:
        java_date(pattern)
    assert str(refused.value) == f"--date-format {pattern}: {message}"
