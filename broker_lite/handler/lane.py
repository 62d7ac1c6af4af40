"""The lane: only one large request at a time is worked on, the others wait for it."""

import asyncio
import gc
from typing import Final

# The garbage collector takes 3 ms to look at so many new objects.
_MANY_OBJECTS: Final = 10_000


class Lane:
    """A lock of the node that large requests take one at a time, in the order in which they came.

    The garbage collector is off while a request is in the lane, and the objects that the request
    leaves behind are frozen: one collection over all objects of a large request takes longer than
    any slice of the request. Nothing leaks by that, because there are no reference cycles among
    these objects, nor among those that other connections leave meanwhile.
    """

    __slots__ = ("_collects", "_lock")

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._collects = True

    async def enter(self) -> None:
        """Wait until the lane is free."""
        await self._lock.acquire()
        self._collects = gc.isenabled()
        gc.disable()

    def leave(self) -> None:
        """Let the next request in."""
        if gc.get_count()[0] > _MANY_OBJECTS:
            gc.freeze()
        if self._collects:
            gc.enable()
        self._lock.release()
