"""Parses option values; every error says what is allowed."""

import difflib
import re
from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from typing import Final, TypeVar

_Value = TypeVar("_Value")
_Choice = TypeVar("_Choice", bound=StrEnum)

_INT64_MAX: Final = (1 << 63) - 1
_SIZE: Final = re.compile(r"([0-9]{1,18})\s*([kmgt]?)b?")
_SIZE_FACTORS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_DURATION: Final = re.compile(r"([0-9]{1,15})\s*(ms|s|min|m|h|d|)")
_DURATION_FACTORS_MS: Final = {
    "": 1,
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}


class OptionError(ValueError):
    """An option is wrong; the text is one line with its name, its value and what is allowed."""


class Given:
    """The options of a user; names are case-insensitive.

    Args:
        options: as the user wrote them; None means not given.
        known: all names.
        passed_over: takes a name in lower case; tells whether to ignore that option.

    Raises:
        OptionError: an option is unknown.
    """

    def __init__(
        self,
        options: Mapping[str, str | None],
        known: Collection[str],
        passed_over: Callable[[str], bool] = lambda name: False,
    ) -> None:
        self._values = {
            name.lower(): value.strip() for name, value in options.items() if value is not None
        }
        by_lower = {name.lower(): name for name in known}
        for name in options:
            if name.lower() not in by_lower and not passed_over(name.lower()):
                close = difflib.get_close_matches(name.lower(), by_lower, 1)
                meant = f", only {by_lower[close[0]]}" if close else ""
                raise OptionError(f"option {name}: there is none of this name{meant}")

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._values

    def text(self, name: str) -> str | None:
        """Return the stripped text of an option; None if it was not given."""
        return self._values.get(name.lower())

    def error(self, name: str, reason: object) -> OptionError:
        """Make an error about an option."""
        return OptionError(f"option {name}={self.text(name)!r}: {reason}")

    def parsed(self, name: str, parse: Callable[[str], _Value]) -> _Value | None:
        """Return an option, parsed by a function; None if it was not given.

        Raises:
            OptionError: the function raised a ValueError.
        """
        text = self.text(name)
        if text is None:
            return None
        try:
            return parse(text)
        except ValueError as error:
            raise self.error(name, error) from error

    def flag(self, name: str, default: bool) -> bool:
        """Return a boolean option.

        Raises:
            OptionError: it is neither true nor false.
        """
        value = self.parsed(name, _flag)
        return default if value is None else value

    def count(self, name: str) -> int | None:
        """Return a whole number above 0; None if it was not given.

        Raises:
            OptionError: it is something else.
        """
        return self.parsed(name, positive)

    def choice(self, name: str, default: _Choice) -> _Choice:
        """Return a value of the default's enumeration.

        Raises:
            OptionError: it is none of them.
        """
        text = self.text(name)
        if text is None:
            return default
        values = type(default)
        try:
            return values(text.lower())
        except ValueError as error:
            raise self.error(name, f"one of {', '.join(values)} is allowed") from error


def positive(text: str) -> int:
    """Parse a whole number above 0.

    Raises:
        ValueError: the text says what is allowed.
    """
    value = int(text) if re.fullmatch("[0-9]{1,19}", text) else 0
    if not 0 < value <= _INT64_MAX:
        raise ValueError("a whole number above 0 is allowed")
    return value


def timestamp_ms(text: str) -> int:
    """Parse milliseconds since the epoch.

    Raises:
        ValueError: the text says what is allowed.
    """
    if not re.fullmatch("-?[0-9]{1,19}", text) or not -_INT64_MAX <= int(text) <= _INT64_MAX:
        raise ValueError("milliseconds since 1970 are allowed, a whole number")
    return int(text)


def size_bytes(text: str) -> int:
    """Parse a size above 0: bytes, or a number with k, m, g or t.

    Raises:
        ValueError: the text says what is allowed.
    """
    match = _SIZE.fullmatch(text.lower())
    if match is None or not int(match[1]):
        raise ValueError("a size above 0 is allowed, such as 67108864 or 64m")
    return int(match[1]) * _SIZE_FACTORS[match[2]]


def duration_ms(text: str) -> int:
    """Parse a duration above 0: milliseconds, or a number with ms, s, m, min, h or d.

    Raises:
        ValueError: the text says what is allowed.
    """
    match = _DURATION.fullmatch(text.lower())
    if match is None or not int(match[1]):
        raise ValueError("a duration above 0 is allowed, such as 500ms, 30s or 15m")
    return int(match[1]) * _DURATION_FACTORS_MS[match[2]]


def names(text: str) -> tuple[str, ...]:
    """Parse comma-separated names; blanks and empty names are dropped.

    Raises:
        ValueError: there is none.
    """
    found = tuple(name for part in text.split(",") if (name := part.strip()))
    if not found:
        raise ValueError("at least one name is needed, with commas between several")
    return found


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("true or false is allowed")
    return text.lower() == "true"
