"""Who is told how the loading of a log goes, and may end it by raising."""

from typing import Final, Protocol


class LoadStopped(Exception):
    """The loading was ended before its time; nothing is lost by it."""


class LoadWatch(Protocol):
    """Is told by the thread that loads."""

    def expect(self, segment_count: int, size_bytes: int) -> None:
        """Be told that segments of that many bytes are going to be recovered."""

    def read(self, size_bytes: int) -> None:
        """Be told that so much of them was read."""

    def finish_segment(self) -> None:
        """Be told that one of them is done."""


class _Nobody:
    def expect(self, segment_count: int, size_bytes: int) -> None:
        """Do nothing."""

    def read(self, size_bytes: int) -> None:
        """Do nothing."""

    def finish_segment(self) -> None:
        """Do nothing."""


NOBODY: Final = _Nobody()
