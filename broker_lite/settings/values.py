"""The types of setting values: parses, checks and formats values as Kafka's ConfigDef does.

The texts of the errors are Kafka's, because clients get them in error_message.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Protocol, TypeAlias

Value: TypeAlias = bool | int | float | str | tuple[str, ...] | None
"""A parsed setting: None is Kafka's null."""


AUTO: Final = "auto"
"""As many processes as there are CPUs."""


class ConfigType(IntEnum):
    """The types of settings, with the numbers of DescribeConfigs.

    See: P-125 (DescribeConfigsResponse.ConfigType).
    """

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


_INTEGER_BITS: Final = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}
_INTEGER: Final = re.compile(r"[+-]?\d+")
_DOUBLE: Final = re.compile(
    r"([+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))[fFdD]?", re.ASCII
)


class InvalidValue(ValueError):
    """A value is not allowed for its setting; the text is Kafka's."""


class Validator(Protocol):
    """Checks what a setting allows beyond its type."""

    def check(self, name: str, value: Value) -> None:
        """Raise InvalidValue if the setting does not allow the value."""

    def describe(self) -> str:
        """Return what is allowed, in words for a person."""


def rejected(name: str, shown: object, reason: str) -> InvalidValue:
    """Return the error for a value, with the text of Kafka's ConfigException."""
    return InvalidValue(f"Invalid value {shown} for configuration {name}: {reason}")


@dataclass(frozen=True, slots=True)
class Between:
    """Allows a number between two bounds, both inclusive; None means no bound."""

    low: int | None
    high: int | None = None

    def check(self, name: str, value: Value) -> None:
        """Raise InvalidValue if the value is outside the bounds."""
        assert isinstance(value, int | float)
        if self.low is not None and value < self.low:
            raise rejected(name, show(value), f"Value must be at least {self.low}")
        if self.high is not None and value > self.high:
            raise rejected(name, show(value), f"Value must be no more than {self.high}")

    def describe(self) -> str:
        """Return the bounds."""
        if self.high is None:
            return f"at least {self.low}"
        return f"{self.low} to {self.high}"


@dataclass(frozen=True, slots=True)
class GzipLevel:
    """Allows 1 to 9, or -1 for the codec's own default.

    See: R-75 (GzipCompression.LevelValidator).
    """

    def check(self, name: str, value: Value) -> None:
        """Raise InvalidValue if the value is not 1 to 9 or -1."""
        assert isinstance(value, int)
        if value != -1 and not 1 <= value <= 9:
            raise rejected(name, value, "Value must be between 1 and 9 or equal to -1")

    def describe(self) -> str:
        """Return the bounds."""
        return "1 to 9, or -1"


@dataclass(frozen=True, slots=True)
class OneOf:
    """Allows some words, or a list of them."""

    words: tuple[str, ...]
    ignore_case: bool = False

    def check(self, name: str, value: Value) -> None:
        """Raise InvalidValue for the first word that is not allowed."""
        # parse() has another error for an empty item of a list
        for word in filter(None, value) if isinstance(value, tuple) else (value,):
            known = str(word).lower() if self.ignore_case else word
            if known not in self.words:
                raise rejected(name, word, f"String must be one of: {', '.join(self.words)}")

    def describe(self) -> str:
        """Return the words."""
        return ", ".join(word or "(empty)" for word in self.words)


@dataclass(frozen=True, slots=True)
class EachOneOf:
    """Allows some words, or several of them with commas between; a word may come again."""

    words: tuple[str, ...]

    def check(self, name: str, value: Value) -> None:
        """Raise InvalidValue for the first word that is not allowed."""
        for word in str(value).split(","):
            if word.strip() not in self.words:
                raise rejected(
                    name, word.strip(), f"String must be one of: {', '.join(self.words)}"
                )

    def describe(self) -> str:
        """Return the words."""
        return ", ".join(self.words)


@dataclass(frozen=True, slots=True)
class Word:
    """Allows one word of ASCII, which can be written to a properties file without escapes."""

    def check(self, name: str, value: Value) -> None:
        """Raise InvalidValue if there is white space or a character outside ASCII."""
        if value is not None and not re.fullmatch(r"[!-~]+", str(value)):
            raise rejected(name, value, "It must be one word of ASCII")

    def describe(self) -> str:
        """Return the form."""
        return "one word"


@dataclass(frozen=True, slots=True)
class ProcessCount:
    """Allows a number of processes, or the word auto."""

    def check(self, name: str, value: Value) -> None:
        """Raise InvalidValue if it is neither."""
        text = str(value)
        if text != AUTO and not (re.fullmatch(r"[1-9][0-9]?", text) and int(text) <= 64):
            raise rejected(name, value, f"It must be {self.describe()}")

    def describe(self) -> str:
        """Return the bounds."""
        return f"1 to 64, or {AUTO}"


@dataclass(frozen=True, slots=True)
class Umask:
    """Allows the permissions that new files do not get, as an octal number of three digits."""

    def check(self, name: str, value: Value) -> None:
        """Raise InvalidValue if it is not octal, or takes permissions from the broker itself."""
        if not re.fullmatch(r"0?0[0-7]{2}", str(value)):
            raise rejected(name, value, "It must be octal and leave the owner all permissions")

    def describe(self) -> str:
        """Return the form."""
        return "octal, 000 to 077"


@dataclass(frozen=True, slots=True)
class ThrottledReplicas:
    """Allows `*`, or pairs partition:broker.

    Source: ConfigHelper, ThrottledReplicaListValidator.
    """

    def check(self, name: str, value: Value) -> None:
        """Raise InvalidValue if an item is not such a pair."""
        assert isinstance(value, tuple)
        if value in {(), ("*",)} or all(re.fullmatch(r"\d+:\d+", pair) for pair in value):
            return
        shape = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
        reason = f"{name} must be the literal '*' or a list of replicas in the following format"
        raise rejected(name, f"[{', '.join(value)}]", f"{reason}: {shape}")

    def describe(self) -> str:
        """Return the form."""
        return "* or partition:broker,..."


def parse(name: str, kind: ConfigType, text: str, validator: Validator | None) -> Value:
    """Parse a setting's text; white space around it is ignored.

    Raises:
        InvalidValue: the text is not of the type, or the validator does not allow it.

    See: P-127 (ConfigDef.parseType).
    """
    value = _parse_type(name, kind, text)
    if validator is not None:
        validator.check(name, value)
    if isinstance(value, tuple) and not all(value):
        raise InvalidValue(f"Configuration '{name}' values must not be empty.")
    return value


def _parse_type(name: str, kind: ConfigType, text: str) -> Value:
    trimmed = text.strip()
    if kind is ConfigType.BOOLEAN:
        if trimmed.lower() not in {"true", "false"}:
            raise rejected(name, text, "Expected value to be either true or false")
        return trimmed.lower() == "true"
    if kind in _INTEGER_BITS:
        return _parse_integer(name, kind, trimmed)
    if kind is ConfigType.DOUBLE:
        return _parse_double(name, trimmed)
    if kind is ConfigType.LIST:
        return _parse_list(trimmed)
    return trimmed


def _parse_integer(name: str, kind: ConfigType, trimmed: str) -> int:
    bits = _INTEGER_BITS[kind]
    # the length first, because int() raises another error for texts of more than 4300 digits
    if len(trimmed) <= 64 and _INTEGER.fullmatch(trimmed):
        value = int(trimmed)
        if -(1 << bits - 1) <= value < 1 << bits - 1:
            return value
    raise rejected(name, trimmed, f"Not a number of type {kind.name}")


def _parse_double(name: str, trimmed: str) -> float:
    match = _DOUBLE.fullmatch(trimmed)
    if match is None:
        raise rejected(name, trimmed, "Not a number of type DOUBLE")
    return float(match[1])


def _parse_list(trimmed: str) -> tuple[str, ...]:
    if not trimmed:
        return ()
    return tuple(dict.fromkeys(item.strip() for item in trimmed.split(",")))


def show(value: Value) -> str | None:
    """Return a value's text, as Kafka's ConfigDef.convertToString does."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case float():
            return _show_double(value)
        case tuple():
            return join(value)
        case _:
            return str(value)


def join(items: Sequence[str]) -> str:
    """Return the text of a list."""
    return ",".join(items)


def _show_double(value: float) -> str:
    """Return the text of a double as Java has it, for the values that settings have."""
    text = repr(value)
    if "e" not in text:
        return text.replace("inf", "Infinity").replace("nan", "NaN")
    mantissa, exponent = text.split("e")
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}E{int(exponent)}"
