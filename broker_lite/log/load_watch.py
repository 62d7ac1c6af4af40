"""Who is told how the loading of a log goes, and may end it by raising."""

from typing import Final


class LoadWatch:
    """Does not care; the base of those who do."""

    __slots__ = ()

    def expect(self, segment_count: int, size_bytes: int) -> None:
        """Be told that segments of that many bytes are going to be recovered."""

    def read(self, size_bytes: int) -> None:
        """Be told that so much of them was read."""

    def finish_segment(self) -> None:
        """Be told that one of them is done."""


NOBODY: Final = LoadWatch()
