"""A disk whose calls fail, or are watched: what the operating system says is a test's to choose.

The log calls the functions of `os`. A test that names a `disk` fixture changes them here, and
nowhere else, for as long as it runs.
"""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest


class Disk:
    """The calls of the operating system that a test has changed."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch

    def answer(self, call: str, function: Callable[..., Any]) -> None:
        """Have a function called instead of os.CALL."""
        self._patch.setattr(os, call, function)

    def refuse(self, *calls: str, number: int = errno.EIO) -> None:
        """Have calls fail from now on."""

        def fail(*_: object, **__: object) -> None:
            raise OSError(number, "the disk is gone")

        for call in calls:
            self.answer(call, fail)

    def watch(self, call: str = "fsync") -> list[str]:
        """Have a call with a descriptor done and noted; gives the paths, in order."""
        done: list[str] = []
        real: Callable[[int], None] = getattr(os, call)

        def note(descriptor: int) -> None:
            done.append(os.readlink(f"/proc/self/fd/{descriptor}"))
            real(descriptor)

        self.answer(call, note)
        return done

    @contextmanager
    def changed(self) -> Iterator[None]:
        """Calls that are changed in the body do what they do again behind it."""
        try:
            yield
        finally:
            self.mend()

    def mend(self) -> None:
        """Have all calls do what they do."""
        self._patch.undo()


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    """The disk of a test."""
    return Disk(monkeypatch)
