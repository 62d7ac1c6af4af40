"""Formats moments by a pattern of Java's SimpleDateFormat."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from broker_lite.errors import SettingsError

_PART: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|([^A-Za-z']+)")
_FIELDS: Final[Mapping[str, Callable[[datetime], int]]] = {
    "y": lambda moment: moment.year,
    "M": lambda moment: moment.month,
    "d": lambda moment: moment.day,
    "H": lambda moment: moment.hour,
    "h": lambda moment: moment.hour % 12 or 12,
    "m": lambda moment: moment.minute,
    "s": lambda moment: moment.second,
    "S": lambda moment: moment.microsecond // 1000,
}


def java_date(pattern: str) -> Callable[[datetime], str]:
    """Make the function that formats moments.

    Args:
        pattern: letters of yMdHhmsS, text in single quotes, and signs; all numbers.

    Raises:
        SettingsError: the pattern has something else.
    """
    parts: list[Callable[[datetime], str]] = []
    position = 0
    while position < len(pattern):
        part = _PART.match(pattern, position)
        if part is None:
            raise SettingsError(f"--date-format {pattern}: a quote is not closed")
        parts.append(_part(pattern, part))
        position = part.end()
    return lambda moment: "".join(part(moment) for part in parts)


def _part(pattern: str, part: re.Match[str]) -> Callable[[datetime], str]:
    quoted, letter, signs = part.groups()
    if letter is None:
        text = signs if quoted is None else quoted.replace("''", "'") or "'"
        return lambda _moment: text
    field = _FIELDS.get(letter)
    if field is None or (letter == "M" and len(part[0]) > 2):
        known = "".join(_FIELDS)
        raise SettingsError(
            f"--date-format {pattern}: {part[0]} is not supported, only {known} are"
        )
    width = len(part[0])
    if letter == "y" and width == 2:
        return lambda moment: f"{moment.year % 100:02}"
    return lambda moment: f"{field(moment):0{width}}"
