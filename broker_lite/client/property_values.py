"""Parses values of Kafka's client properties."""

from collections.abc import Collection, Mapping
from typing import Final

from broker_lite.errors import SettingsError

_BOOLEANS: Final = {"true": True, "false": False}
_DIGITS_MAX: Final = 19


def boolean(properties: Mapping[str, str], name: str, *, default: bool) -> bool:
    """Return a property that is `true` or `false`.

    Raises:
        SettingsError: it is neither.
    """
    return _BOOLEANS[one_of(properties, name, _BOOLEANS, str(default).lower())]


def one_of(properties: Mapping[str, str], name: str, choices: Collection[str], default: str) -> str:
    """Return a property that is one of some words, in lower case.

    Raises:
        SettingsError: it is another word.
    """
    text = properties.get(name, default).strip().lower()
    if text not in choices:
        raise SettingsError(f"{name}={text}: must be one of {', '.join(choices)}")
    return text


def integer(properties: Mapping[str, str], name: str, default: int, *, minimum: int = 0) -> int:
    """Return a property that is a whole number.

    Raises:
        SettingsError: it is not a number, or below the minimum.
    """
    text = properties.get(name, str(default)).strip()
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS_MAX):
        raise SettingsError(f"{name}={text}: not a whole number")
    if int(text) < minimum:
        raise SettingsError(f"{name}={text}: less than {minimum}")
    return int(text)
