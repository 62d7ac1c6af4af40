"""Option values from text: each reader says in its error what is allowed."""

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
    """An option cannot be used; one line that names it, its value and what is allowed."""


class Given:
    """The options that were given; their names are compared without case.

    Args:
        options: as the user wrote them; None stands for one that was not given.
        known: all names there are.
        passed_over: tells, by its name in lower case, an option that means nothing here.

    Raises:
        OptionError: there is no such option.
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
        """Give an option as it is, without blanks around it; None when it was not given."""
        return self._values.get(name.lower())

    def error(self, name: str, reason: object) -> OptionError:
        """Make the error of an option."""
        return OptionError(f"option {name}={self.text(name)!r}: {reason}")

    def parsed(self, name: str, parse: Callable[[str], _Value]) -> _Value | None:
        """Give an option as a function reads it, None when it was not given.

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
        """Give a boolean.

        Raises:
            OptionError: it is neither true nor false.
        """
        value = self.parsed(name, _flag)
        return default if value is None else value

    def count(self, name: str) -> int | None:
        """Give a whole number above 0, None when it was not given.

        Raises:
            OptionError: it is none.
        """
        return self.parsed(name, positive)

    def choice(self, name: str, default: _Choice) -> _Choice:
        """Give one of the values of an enumeration, that of the default.

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
    """Read a whole number above 0.

    Raises:
        ValueError: the text says what is allowed.
    """
    value = int(text) if re.fullmatch("[0-9]{1,19}", text) else 0
    if not 0 < value <= _INT64_MAX:
        raise ValueError("a whole number above 0 is allowed")
    return value


def timestamp_ms(text: str) -> int:
    """Read milliseconds since the epoch.

    Raises:
        ValueError: the text says what is allowed.
    """
    if not re.fullmatch("-?[0-9]{1,19}", text) or not -_INT64_MAX <= int(text) <= _INT64_MAX:
        raise ValueError("milliseconds since 1970 are allowed, a whole number")
    return int(text)


def size_bytes(text: str) -> int:
    """Read a size above 0: bytes, or a number with k, m, g, t.

    Raises:
        ValueError: the text says what is allowed.
    """
    match = _SIZE.fullmatch(text.lower())
    if match is None or not int(match[1]):
        raise ValueError("a size above 0 is allowed, such as 67108864 or 64m")
    return int(match[1]) * _SIZE_FACTORS[match[2]]


def duration_ms(text: str) -> int:
    """Read a duration above 0: milliseconds, or a number with ms, s, m, min, h, d.

    Raises:
        ValueError: the text says what is allowed.
    """
    match = _DURATION.fullmatch(text.lower())
    if match is None or not int(match[1]):
        raise ValueError("a duration above 0 is allowed, such as 500ms, 30s or 15m")
    return int(match[1]) * _DURATION_FACTORS_MS[match[2]]


def names(text: str) -> tuple[str, ...]:
    """Read names with commas between them; blanks and empty ones do not count.

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
