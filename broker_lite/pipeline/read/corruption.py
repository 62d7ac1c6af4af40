"""Damage that a reader meets, and what it does about it.

A reader passes each damage to a function and continues behind it, unless the function raises.
Damaged content costs one batch; a damaged length costs everything up to the next sound batch.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

logger = logging.getLogger("broker_lite.pipeline")


class Corruption(NamedTuple):
    """Bytes of a segment that are not a sound batch.

    Attributes:
        file: path of the .log file.
        position: of the first byte that is left out; -1 if the whole file is meant.
        rule: id of the rule that is broken.
        text: what is wrong, one line.
    """

    file: str
    position: int
    rule: str
    text: str

    @property
    def line(self) -> str:
        """The damage in one line."""
        place = f" at {self.position}" if self.position >= 0 else ""
        return f"{self.file}{place}: {self.rule}: {self.text}"


OnCorruption = Callable[[Corruption], None]


class CorruptLog(ValueError):
    """A log is damaged, and the reader was not told to tolerate damage."""

    def __init__(self, corruption: Corruption) -> None:
        super().__init__(corruption)  # pickle calls the class with these arguments
        self.corruption = corruption

    def __str__(self) -> str:  # type: ignore[explicit-override]
        return f"corrupt log: {self.corruption.line}"


def raise_corruption(corruption: Corruption) -> None:
    """Raise an error, which ends the read.

    Raises:
        CorruptLog: always.
    """
    raise CorruptLog(corruption)


def log_corruption(corruption: Corruption) -> None:
    """Log a warning about the bytes that are left out."""
    logger.warning("corrupt bytes left out file=%s position=%d rule=%s text=%s", *corruption)


ON_CORRUPTION: Final[Mapping[str, OnCorruption]] = {
    "fail": raise_corruption,
    "skip": log_corruption,
    "report": log_corruption,
}
"""By the values of the option onCorrupt, for views that have no rows for damage."""
