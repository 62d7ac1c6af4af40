"""Parses moments and durations in ISO 8601, as Kafka's tools take them.

2026-01-31T12:00:00.000[Z|+01:00]     without a zone it is in UTC
P1DT2H3M4.5S                          days, hours, minutes, seconds
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from broker_lite.errors import SettingsError

_DURATION: Final = re.compile(
    r"(?P<sign>[+-]?)P(?:(?P<days>[+-]?\d+)D)?"
    r"(?:T(?=[+-]?\d)(?:(?P<hours>[+-]?\d+)H)?(?:(?P<minutes>[+-]?\d+)M)?"
    r"(?:(?P<seconds>[+-]?\d+(?:\.\d{0,9})?)S)?)?",
    re.IGNORECASE | re.ASCII,
)
_UNITS: Final = ("days", "hours", "minutes", "seconds")


def parse_moment(text: str) -> int:
    """Return a moment in ms since 1970.

    Raises:
        SettingsError: the text is not a date with a time.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or "T" not in text:
        raise SettingsError(f"{text}: not a moment like 2026-01-31T12:00:00.000")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def parse_duration(text: str) -> int:
    """Return a duration in ms.

    Raises:
        SettingsError: the text is not a duration.
    """
    match = _DURATION.fullmatch(text)
    if match is None or not any(match[unit] for unit in _UNITS):
        raise SettingsError(f"{text}: not a duration like P1DT2H3M4S")
    try:
        duration = timedelta(**{unit: float(match[unit] or 0) for unit in _UNITS})
    except OverflowError as error:
        raise SettingsError(f"{text}: too long a duration") from error
    sign = -1 if match["sign"] == "-" else 1
    return sign * round(duration.total_seconds() * 1000)
