"""Formats numbers, times and bytes for people."""

from datetime import UTC, datetime
from typing import Final

NONE: Final = "\N{EN DASH}"

_UNITS: Final = ("B", "kB", "MB", "GB", "TB")
_BINARY_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")
_TIMES_MS: Final = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1))
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


def share_text(share: float) -> str:
    """Format a share from 0 to 1 as a percentage."""
    return f"{share * 100:.1f} %"


def time_text(at_ms: int | None) -> str:
    """Format a time in UTC; NONE for None."""
    if at_ms is None:
        return NONE
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def duration_text(duration_ms: int) -> str:
    """Format a duration in the largest unit that fits."""
    for unit, factor_ms in _TIMES_MS:
        if duration_ms >= factor_ms:
            return f"{duration_ms / factor_ms:.3g} {unit}"
    return f"{duration_ms} ms"


def key_text(key: bytes) -> str:
    """Format a key as text if it is printable, else in hexadecimal; a long one is cut."""
    try:
        text = key.decode()
    except UnicodeDecodeError:
        text = ""
    if not text.isprintable() or not text:
        text = f"0x{key.hex()}" if key else "(empty)"
    return text if len(text) <= _KEY_CHARACTERS_MAX else f"{text[:_KEY_CHARACTERS_MAX]}…"
