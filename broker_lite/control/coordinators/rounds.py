"""Lets a crowd of requests be handled a few at a time, so that others have their turn in between.

Each request of a group is short. But when thousands of members ask at the same moment, as after a
start, all together they take seconds, and a client that wants something else would wait behind all
of them. So the event loop handles so many of them, looks at all connections, and goes on. Where
that look takes long, because other clients have much to do, more of them follow it: else they would
fall behind further and further.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Final

ROUND_S: Final = 0.004
"""How long requests go on before other connections have their turn."""
AT_A_TIME: Final = 16
"""So many of those who wait go on in one round: they take 1 to 5 ms."""
PER_S: Final = 1000
"""At least so many go on in a second, however long a round takes: a third of the time at most."""


class Rounds:
    """Gives requests their turn, in the order in which they came; used by one thread."""

    def __init__(self, now_s: Callable[[], float] = perf_counter) -> None:
        """Begin with nobody who waits.

        Args:
            now_s: the machine's time.
        """
        self._now_s = now_s
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._began_s = 0.0
        self._goes_on = False

    async def turn(self) -> None:
        """Return when the caller may go on; at once unless there is a crowd."""
        if not self._waiting:
            if not self._goes_on:
                self._begin()
                return
            if self._now_s() < self._began_s + ROUND_S:
                return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        await waiter

    def _begin(self) -> None:
        """Begin a round, which ends when the loop has looked at all connections."""
        self._began_s = self._now_s()
        self._goes_on = True
        asyncio.get_running_loop().call_soon(self._end)

    def _end(self) -> None:
        self._goes_on = False
        took_s = self._now_s() - self._began_s
        left = most = max(AT_A_TIME, int(PER_S * took_s))
        while self._waiting and left:
            waiter = self._waiting.popleft()
            if not waiter.done():  # it is, if its client has gone
                waiter.set_result(None)
                left -= 1
        if left < most:
            self._begin()
