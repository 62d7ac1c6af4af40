"""Generates values of records for performance tests."""

import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Final

from broker_lite.errors import SettingsError

_SEED: Final = 0
_LETTERS: Final = bytes(ord("A") + number % 26 for number in range(256))
"""Maps any byte to a letter; some letters are a tenth more frequent than others."""


def random_letters(size_bytes: int) -> Iterator[bytes]:
    """Yield random letters without end, the same in each run."""
    source = random.Random(_SEED)  # noqa: S311 - nothing is kept secret by it
    while True:
        yield source.randbytes(size_bytes).translate(_LETTERS)


def numbers() -> Iterator[bytes]:
    """Yield 0, 1, 2 ... as text."""
    return (b"%d" % number for number in count())


def picked_from(values: list[bytes]) -> Iterator[bytes]:
    """Yield given values in random order without end, the same in each run."""
    source = random.Random(_SEED)  # noqa: S311 - nothing is kept secret by it
    while True:
        yield source.choice(values)


def read_values(path: Path, delimiter: str) -> list[bytes]:
    """Read values from a text file, separated by a delimiter.

    Raises:
        SettingsError: it cannot be read, or is empty.
    """
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: is not UTF-8") from error
    if not text:
        raise SettingsError("File does not exist or empty file provided.")
    return [each.encode() for each in text.removesuffix(delimiter).split(delimiter)]
