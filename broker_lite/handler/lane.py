"""Where large requests wait for each other."""

import asyncio
import gc
from typing import Final

# The garbage collector takes 3 ms to look at so many new objects.
_MANY_OBJECTS: Final = 10_000


class Lane:
    """Lets one large request of a node be worked on at a time, in the order in which they came.

    The garbage collector is off while a request is in the lane, and what the request leaves behind
    is not looked at later: one look at all objects of a large request takes longer than any slice
    of it. There are no cycles among these objects, nor in what other connections leave meanwhile.
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
        """Let the next one in."""
        if gc.get_count()[0] > _MANY_OBJECTS:
            gc.freeze()
        if self._collects:
            gc.enable()
        self._lock.release()
