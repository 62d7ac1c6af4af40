"""Durations as java.time.Duration.parse takes them, and the moments that lie so long ago.

    P1DT2H3M4.5S    days, hours, minutes, seconds; each may be left out, but not all of them
    -P1DT-1H        a sign before P turns the signs of all parts round
    pt0,5s          upper or lower case; a point or a comma

Kafka takes them in configs and options. A text that is too long for Java is refused, as there, so
that what was accepted can be computed with. Only the digits 0 to 9 are digits.
"""

import re
from typing import Final

_DURATION: Final = re.compile(
    r"(?P<sign>[+-]?)P(?=[+-]?\d|T)(?:(?P<days>[+-]?\d+)D)?"
    r"(?:T(?=[+-]?\d)(?:(?P<hours>[+-]?\d+)H)?(?:(?P<minutes>[+-]?\d+)M)?"
    r"(?:(?P<seconds>[+-]?\d+)(?:[.,](?P<fraction>\d{0,9}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)
_SECOND_NS: Final = 1_000_000_000
_MS_NS: Final = 1_000_000
_LONG_MAX: Final = 2**63 - 1
_LONG_DIGITS: Final = len(str(_LONG_MAX))


class InvalidDuration(ValueError):
    """A text is no duration, or a number is too large for Java; the text says which."""


def duration_ns(text: str) -> int:
    """Return the nanoseconds of a duration; the seconds fit a long of Java's, rounded down.

    Raises:
        InvalidDuration: Java does not take the text.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise InvalidDuration("not a duration like P1DT2H3M4S")
    seconds = _long_of(match["seconds"])
    # Java adds from the right; none of its sums may leave the long, even if the next comes back.
    total = seconds
    for unit, unit_s in (("minutes", 60), ("hours", 3600), ("days", 86400)):
        total = _long(total + _long(_long_of(match[unit]) * unit_s))
    fraction_ns = int((match["fraction"] or "").ljust(9, "0"))
    if (match["seconds"] or "").startswith("-"):  # also of -0
        fraction_ns = -fraction_ns
    found_ns = _within_seconds(total * _SECOND_NS + fraction_ns)
    return _within_seconds(-found_ns) if match["sign"] == "-" else found_ns


def ms_before(now_ms: int, age_ns: int) -> int:
    """Return the moment that lies a duration before another one, in ms since 1970, rounded down.

    It may lie before 1970.

    Raises:
        InvalidDuration: it fits no long, which an Instant of Java's cannot give either.
    """
    return _long((now_ms * _MS_NS - age_ns) // _MS_NS)


def _long_of(digits: str | None) -> int:
    """Parse the number of a part; Python's int refuses thousands of zeros, which Java takes."""
    if digits is None:
        return 0
    size = digits.lstrip("+-").lstrip("0") or "0"
    if len(size) > _LONG_DIGITS:
        raise InvalidDuration("too long a duration")
    return _long(-int(size) if digits.startswith("-") else int(size))


def _long(number: int) -> int:
    if not ~_LONG_MAX <= number <= _LONG_MAX:
        raise InvalidDuration("too long a duration")
    return number


def _within_seconds(found_ns: int) -> int:
    _long(found_ns // _SECOND_NS)
    return found_ns
