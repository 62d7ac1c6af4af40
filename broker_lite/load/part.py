"""The part of a load that one of several processes has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Part:
    """One of several equal parts.

    Attributes:
        index: from 0.
        count: how many processes there are.
    """

    index: int
    count: int

    def of(self, whole: range) -> range:
        """Return every so many of a range, so that each is in exactly one part."""
        return whole[self.index :: self.count]

    def size_of(self, whole: int) -> int:
        """Return how many of a number of things are in this part."""
        return len(self.of(range(whole)))


WHOLE: Final = Part(0, 1)
