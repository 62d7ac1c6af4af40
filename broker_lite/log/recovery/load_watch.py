"""The interface of an object that follows the loading of a log."""

from typing import Final, Protocol


class LoadStopped(Exception):
    """The loading was stopped before its end; nothing is lost."""


class LoadWatch(Protocol):
    """Follows the loading of a log; each method may end the loading by raising LoadStopped.

    The thread that loads calls the methods.
    """

    def expect(self, segment_count: int, size_bytes: int) -> None:
        """Note that some segments with this total size are going to be recovered."""

    def read(self, size_bytes: int) -> None:
        """Note that this many bytes of these segments were read."""

    def finish_segment(self) -> None:
        """Note that one of these segments is recovered."""


class _Nobody:
    def expect(self, segment_count: int, size_bytes: int) -> None:
        """Do nothing."""

    def read(self, size_bytes: int) -> None:
        """Do nothing."""

    def finish_segment(self) -> None:
        """Do nothing."""


NOBODY: Final = _Nobody()
