"""Formats numbers, times and bytes for people: without exponents, with at most one unit."""

from datetime import UTC, datetime
from math import floor, log10
from typing import Final

NONE: Final = "\N{EN DASH}"

_UNITS: Final = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_BINARY_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_TIMES_MS: Final = (
    *(("years", 31_557_600_000), ("d", 86_400_000), ("h", 3_600_000)),
    *(("min", 60_000), ("s", 1000), ("ms", 1)),
)
_RATE_UNITS: Final = (("a second", 1), ("a minute", 60), ("an hour", 3600), ("a day", 86_400))
_YEARS_MIN: Final = 2  # fewer are told in days
_KEY_CHARACTERS_MAX: Final = 40


def size_text(size_bytes: float) -> str:
    """Format a size with a decimal unit."""
    number = 0
    while size_bytes >= 999.95 and number < len(_UNITS) - 1:
        size_bytes, number = size_bytes / 1000, number + 1
    return f"{size_bytes:.0f} B" if not number else f"{size_bytes:.1f} {_UNITS[number]}"


def power_text(size_bytes: float) -> str:
    """Format a size that is a power of two with a binary unit."""
    number = 0
    while size_bytes >= 1024 and number < len(_UNITS) - 1:
        size_bytes, number = size_bytes / 1024, number + 1
    return f"{size_bytes:.0f} {_BINARY_UNITS[number]}"


def count_text(count: float) -> str:
    """Format a number with thin spaces between thousands."""
    return f"{count:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def number_text(number: float) -> str:
    """Format a mean or a ratio with three digits, or with all digits of its whole part."""
    if number >= 99.95:
        return count_text(number)
    return f"{number:.1f}" if number >= 9.995 else f"{number:.2f}"


def ratio_text(ratio: float) -> str:
    """Format a multiple, such as 1.50 times."""
    return f"{number_text(ratio)} \N{MULTIPLICATION SIGN}"


def rate_text(rate: float) -> str:
    """Format a number in some time; a small one has two digits behind its zeros."""
    if rate <= 0 or rate >= 9.95:
        return count_text(rate)
    decimals = 1 - floor(log10(rate))
    return f"{rate:.{decimals}f}".rstrip("0").rstrip(".")


def rate_unit(per_second: float) -> tuple[str, int]:
    """Return the shortest time in which there is one at least, by name and in seconds."""
    return next((one for one in _RATE_UNITS if per_second * one[1] >= 1), _RATE_UNITS[-1])


def byte_rate_text(rate: float) -> str:
    """Format a number of bytes in some time, also one below 1."""
    return size_text(rate) if rate >= 9.95 else f"{rate_text(rate)} B"


def share_text(share: float) -> str:
    """Format a share from 0 to 1 as a percentage; one that is not 0 does not look like 0."""
    return "< 0.1 %" if 0 < share < 0.0005 else f"{share * 100:.1f} %"


def time_text(at_ms: int | None) -> str:
    """Format a time in UTC; NONE for None."""
    if at_ms is None:
        return NONE
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def duration_text(duration_ms: float) -> str:
    """Format a duration in the largest unit that fits, with one decimal below 10."""
    for unit, factor_ms in _TIMES_MS:
        value = round(duration_ms / factor_ms, 2)
        if value >= (_YEARS_MIN if unit == "years" else 1):
            text = f"{value:.1f}".removesuffix(".0") if value < 9.95 else count_text(value)
            return f"{text} {unit}"
    return f"{duration_ms:.0f} ms"


def key_text(key: bytes) -> str:
    """Format a key as text if it is printable, else in hexadecimal; a long one is cut."""
    try:
        text = key.decode()
    except UnicodeDecodeError:
        text = ""
    if not text.isprintable() or not text:
        text = f"0x{key.hex()}" if key else "(empty)"
    return text if len(text) <= _KEY_CHARACTERS_MAX else f"{text[:_KEY_CHARACTERS_MAX]}…"


def cut(name: str, characters_max: int = 32) -> str:
    """Cut a long name."""
    return name if len(name) <= characters_max else f"{name[: characters_max - 1]}…"
