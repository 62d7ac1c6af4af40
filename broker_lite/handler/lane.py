"""The lane: only one large request at a time is worked on, the others wait for it."""

import asyncio

from broker_lite.handler.uncollected import COLLECTOR


class Lane:
    """A lock of the node that large requests take one at a time, in the order in which they came.

    The garbage collector is off while a request is in the lane.
    """

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def enter(self) -> None:
        """Wait until the lane is free."""
        await self._lock.acquire()
        COLLECTOR.off()

    def leave(self) -> None:
        """Let the next request in."""
        COLLECTOR.on()
        self._lock.release()
