"""Patterns in which * and ? stand for any characters, compared in one pass."""

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from broker_lite.testbench.errors import ControlError

Test: TypeAlias = Callable[[object], bool]

PATTERN_CHARACTERS_MAX: Final = 1000
"""Four times as many as a topic's name may have."""


def glob(text: str, at: str = "") -> Test:
    """Return a test for texts in which * and ? stand for any characters.

    Raises:
        ControlError: the pattern is too long.
    """
    if "*" not in text and "?" not in text:
        return text.__eq__
    if len(text) > PATTERN_CHARACTERS_MAX:
        raise ControlError(400, f"it has more than {PATTERN_CHARACTERS_MAX} characters", at)
    first, *others = re.split(r"\*+", text)
    if not others:
        return _Segment(first).is_all_of
    *inner, last = map(_Segment, others)
    begin = _Segment(first)

    def test(value: object) -> bool:
        # the first place where a part fits is the best one, so nothing is tried twice
        if not isinstance(value, str) or not begin.is_at(value, 0):
            return False
        start, end = begin.length, len(value) - last.length
        for segment in inner:
            start = segment.find(value, start, end)
            if start < 0:
                return False
        return start <= end and last.is_at(value, end)

    return test


class _Segment:
    """A part of a pattern between two *."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.length = len(text)
        self._pattern = None
        if "?" in text:
            plain = "".join("." if each == "?" else re.escape(each) for each in text)
            self._pattern = re.compile(plain, re.DOTALL)

    def is_all_of(self, value: object) -> bool:
        return isinstance(value, str) and len(value) == self.length and self.is_at(value, 0)

    def is_at(self, value: str, start: int) -> bool:
        if self._pattern is None:
            return value.startswith(self._text, start)
        return self._pattern.match(value, start) is not None

    def find(self, value: str, start: int, end: int) -> int:
        """Return the end of its first place; -1 if there is none."""
        if self._pattern is None:
            found = value.find(self._text, start, max(end, 0))
        else:
            match = self._pattern.search(value, start, max(end, 0))
            found = -1 if match is None else match.start()
        return -1 if found < 0 else found + self.length
