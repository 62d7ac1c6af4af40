"""Tell long work in a thread that its result is not needed any more.

A thread cannot be ended from outside. So long work checks a Stop between its steps, each of which
takes a few milliseconds. A compiled loop cannot check it; it registers a function that is called.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final


class WorkStopped(Exception):
    """The work was stopped on demand; nothing of it counts."""


class Stop:
    """A demand to stop, which one thread makes and others see; it cannot be taken back."""

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
        """Raise WorkStopped if the stop was demanded."""
        if self.is_set:
            raise WorkStopped

    @contextmanager
    def telling(self, tell: Callable[[], object]) -> Iterator[None]:
        """Call a function if the stop is demanded while the body runs.

        Raises:
            WorkStopped: the stop was demanded before the end of the body.
        """
        self._tells.append(tell)
        try:
            self.check()
            yield
        finally:
            self._tells.remove(tell)
        self.check()


NEVER: Final = Stop()
"""For work that is never stopped."""
