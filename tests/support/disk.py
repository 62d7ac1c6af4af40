"""A disk whose calls fail, or are watched: what the operating system says is a test's to choose.

The log calls the functions of `os`, some of them by `disk_calls`. A test that names a `disk`
fixture changes them here, and nowhere else, for as long as it runs.
"""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from broker_lite.log.files import disk_calls


class Disk:
    """The calls of the operating system that a test has changed."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch

    def answer(self, call: str, function: Callable[..., Any]) -> None:
        """Have a function called instead of os.CALL."""
        self._patch.setattr(os, call, function)
        if hasattr(disk_calls, call):
            self._patch.setattr(disk_calls, call, function)

    def around(self, call: str, act: Callable[[str, Callable[[], Any]], Any]) -> None:
        """Have a function called with the path of the file and with what does os.CALL."""
        real = getattr(os, call)

        def answer(file: int | str | os.PathLike[str], *arguments: Any, **options: Any) -> Any:
            path = os.readlink(f"/proc/self/fd/{file}") if isinstance(file, int) else str(file)
            return act(path, partial(real, file, *arguments, **options))

        self.answer(call, answer)

    def before(self, call: str, act: Callable[[str], None]) -> None:
        """Have a function called with the path of the file before each os.CALL is done."""

        def act_and_do(path: str, do: Callable[[], Any]) -> Any:
            act(path)
            return do()

        self.around(call, act_and_do)

    def refuse(self, *calls: str, number: int = errno.EIO, below: str = "") -> None:
        """Have calls fail from now on.

        Args:
            calls: names of functions of os.
            number: of the error.
            below: only for files in folders whose names begin so.
        """

        def fail(path: str) -> None:
            if f"/{below}" in path:
                raise OSError(number, "the disk is gone")

        for call in calls:
            self.before(call, fail)

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
