"""Work on many objects, during which the garbage collector is off.

One collection over all objects of a large request takes longer than any slice of the request. What
the work leaves behind is frozen. Nothing leaks by that, because there are no reference cycles among
these objects, nor among those that other connections leave meanwhile.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# The garbage collector takes 3 ms to look at so many new objects.
_MANY_OBJECTS: Final = 10_000


class _Collector:
    """The garbage collector of the process; off as long as any work wants it so."""

    __slots__ = ("_users", "_was_on")

    def __init__(self) -> None:
        self._users = 0
        self._was_on = False

    def off(self) -> None:
        """Turn it off."""
        if self._users == 0:
            self._was_on = gc.isenabled()
            gc.disable()
        self._users += 1

    def on(self) -> None:
        """Turn it on again, unless other work wants it off or it was off before."""
        self._users -= 1
        if self._users:
            return
        if gc.get_count()[0] > _MANY_OBJECTS:
            gc.freeze()
        if self._was_on:
            gc.enable()


COLLECTOR: Final = _Collector()


@contextmanager
def uncollected() -> Iterator[None]:
    """Turn the garbage collector off for a while."""
    COLLECTOR.off()
    try:
        yield
    finally:
        COLLECTOR.on()
