"""What is wrong with a file, where, by which rule; and what a reader does when it finds it.

A reader hands each finding to a function and goes on behind it, unless the function raises. What
is lost is one batch when only its content is damaged; when its length is, everything up to the
next entry of the offset index that a batch starts at.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

logger = logging.getLogger("broker_lite.pipeline")


class Corruption(NamedTuple):
    """Bytes of a segment that are no sound batch.

    Attributes:
        file: path of the .log file.
        position: of the first byte that is left out.
        rule: id of the rule that is broken.
        text: what is wrong, one line.
    """

    file: str
    position: int
    rule: str
    text: str

    @property
    def line(self) -> str:
        """All of it in one line."""
        return f"{self.file} at {self.position}: {self.rule}: {self.text}"


OnCorruption = Callable[[Corruption], None]


class CorruptLog(ValueError):
    """A log is damaged, and nobody said that it may be."""

    def __init__(self, corruption: Corruption) -> None:
        super().__init__(corruption)  # what pickle makes it from again
        self.corruption = corruption

    def __str__(self) -> str:  # type: ignore[explicit-override]
        return f"corrupt log: {self.corruption.line}"


def raise_corruption(corruption: Corruption) -> None:
    """End the read.

    Raises:
        CorruptLog: always.
    """
    raise CorruptLog(corruption)


def log_corruption(corruption: Corruption) -> None:
    """Tell the log that something is left out."""
    logger.warning(
        "corrupt bytes left out file=%s position=%d rule=%s text=%s",
        corruption.file,
        corruption.position,
        corruption.rule,
        corruption.text,
    )


ON_CORRUPTION: Final[Mapping[str, OnCorruption]] = {
    "fail": raise_corruption,
    "skip": log_corruption,
    "report": log_corruption,
}
"""By the values of the option onCorrupt, for a view that has no rows for what is damaged."""
