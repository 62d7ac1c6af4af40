"""How long work in a thread learns that nobody wants its result any more.

A thread cannot be ended from outside. So what may work for long asks between its steps, each of
which takes a few milliseconds, and a compiled loop is told through a function that it registers.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final


class WorkStopped(Exception):
    """The work was given up on demand; nothing of it counts."""


class Stop:
    """A demand to stop, made by one thread and seen by another; it stays once it is made."""

    __slots__ = ("_tells", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        self._tells: list[Callable[[], object]] = []

    def set(self) -> None:
        """Demand that the work stops; it ends a little later."""
        self.is_set = True
        for tell in tuple(self._tells):
            tell()

    def check(self) -> None:
        """Raise WorkStopped if it is to stop."""
        if self.is_set:
            raise WorkStopped

    @contextmanager
    def telling(self, tell: Callable[[], object]) -> Iterator[None]:
        """Call a function when the stop is demanded while the body runs.

        Raises:
            WorkStopped: it was demanded before the end of the body.
        """
        self._tells.append(tell)
        try:
            self.check()
            yield
        finally:
            self._tells.remove(tell)
        self.check()


NEVER: Final = Stop()
"""For work that nobody stops."""
