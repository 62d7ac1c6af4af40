"""Parses moments and durations in ISO 8601, as Kafka's tools take them.

2026-01-31T12:00:00.000[Z|+01:00]     without a zone it is in UTC
P1DT2H3M4.5S                          days, hours, minutes, seconds
"""

from datetime import UTC, datetime

from broker_lite.errors import SettingsError
from broker_lite.settings.configs.java_duration import InvalidDuration, duration_ns, ms_before


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


def parse_ago(text: str, now_ms: int) -> int:
    """Return the moment that lies a duration ago, in ms since 1970, which it may lie before.

    Raises:
        SettingsError: the text is not a duration, or one that is too long for Kafka.
    """
    try:
        return ms_before(now_ms, duration_ns(text))
    except InvalidDuration as error:
        raise SettingsError(f"{text}: {error}") from error
