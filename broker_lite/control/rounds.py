"""Lets a crowd of requests be handled a few at a time, so that others have their turn in between.

Each request is short. But when thousands come at the same moment, as those of a group's members
after a start, or are woken by the same record, all together they take seconds, and a client that
wants something else would wait behind all of them. So the event loop handles so many of them, looks
at all connections, and goes on. Where that look takes long, because other clients have much to do,
more of them follow it: else they would fall behind further and further. Where each of them takes
long, as in a group with very many members, fewer go on at once.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Final, Self

import anyio

ROUND_S: Final = 0.004
"""How long requests go on before other connections have their turn."""
AT_A_TIME: Final = 16
"""So many of those who wait go on in one round: most take 0.1 to 0.3 ms."""
PER_S: Final = 1000
"""Where others take long, so many go on in a second, but in a third of the time at most."""
_BEFORE_FIRST: Final = AT_A_TIME // 2
"""The first round of a crowd has at most twice as many, the next one twice as many as that."""


class Rounds:
    """Gives requests their turn, in the order in which they came; used by one thread."""

    def __init__(self, now_s: Callable[[], float] = perf_counter) -> None:
        """Begin with nobody who waits.

        Args:
            now_s: the machine's time.
        """
        self._now_s = now_s
        # What each request waits for. A closure for each would be a new object, and 10,000 of them
        # start the garbage collector in the midst of the Produce that wakes their requests.
        self._waiting: deque[asyncio.Future[None] | anyio.Event] = deque()
        self._began_s = 0.0
        self._goes_on = False
        self._left = 0
        self._most = _BEFORE_FIRST
        # what those who went on in the last round took, together and each
        self._own_began_s = self._own_s = self._each_s = 0.0

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

    def wake(self, event: anyio.Event) -> None:
        """Set the event that a request waits for, at once unless there is a crowd."""
        if not self._waiting:
            if not self._goes_on:
                self._begin()
            if self._left:
                self._left -= 1
                event.set()
                return
        self._waiting.append(event)

    def _begin(self) -> None:
        """Begin a round, which ends when the loop has looked at all connections."""
        self._began_s = self._now_s()
        self._goes_on = True
        self._left = AT_A_TIME
        asyncio.get_running_loop().call_soon(self._end)

    def _end(self) -> None:
        self._goes_on = False
        self._most = self._next_most()
        self._own_s = 0.0
        if not self._waiting:
            return
        loop, count = asyncio.get_running_loop(), 0
        # the loop calls what is woken between these two
        loop.call_soon(self._own_begins)
        while self._waiting and count < self._most:
            count += _let_go_on(self._waiting.popleft())
        if count:
            loop.call_soon(self._own_ends, count)
            self._begin()

    def _next_most(self) -> int:
        """Return how many go on in the next round."""
        if not self._waiting:
            return _BEFORE_FIRST
        others_s = self._now_s() - self._began_s - self._own_s
        most = max(AT_A_TIME, min(int(PER_S * others_s), 2 * self._most))
        if self._each_s:
            most = min(most, max(int(max(ROUND_S, others_s / 2) / self._each_s), 1))
        return most

    def _own_begins(self) -> None:
        self._own_began_s = self._now_s()

    def _own_ends(self, count: int) -> None:
        self._own_s = self._now_s() - self._own_began_s
        self._each_s = self._own_s / count


def _let_go_on(waiter: asyncio.Future[None] | anyio.Event) -> bool:
    """Let a request go on; return False if its client has gone."""
    if not isinstance(waiter, asyncio.Future):
        waiter.set()
    elif waiter.done():
        return False
    else:
        waiter.set_result(None)
    return True


class Wait:
    """A request that waits for a change of anything, or for the end of its time, in its turn.

    It is called at each change. When the time is over, no task is cancelled: the request is woken,
    as by a change. So thousands whose time is over together go on a few at a time, too.

        with Wait(rounds, seconds) as wait:
            while not wait.is_over:
                wait.begin()
                ...  # let it be called at each change, then look whether all is there
                await wait.until_change()

    Attributes:
        is_over: whether its time is over.
    """

    __slots__ = ("_event", "_is_called", "_rounds", "_seconds", "_timer", "is_over")

    def __init__(self, rounds: Rounds, seconds: float) -> None:
        """Prepare a wait, whose time begins with the block.

        Args:
            rounds: give the request its turn.
            seconds: how long it waits.
        """
        self._rounds = rounds
        self._seconds = seconds
        self._event = anyio.Event()
        self._is_called = False
        self._timer: asyncio.TimerHandle | None = None
        self.is_over = False

    def __enter__(self) -> Self:
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._end)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._timer is not None
        self._timer.cancel()

    def begin(self) -> None:
        """Forget the changes so far, before the request looks again."""
        if self._is_called:
            self._event, self._is_called = anyio.Event(), False

    def __call__(self) -> None:
        """Let the request go on, once however much has changed."""
        if not self._is_called:
            self._is_called = True
            self._rounds.wake(self._event)

    async def until_change(self) -> None:
        """Return after a change since begin(), or when the time is over."""
        await self._event.wait()

    def _end(self) -> None:
        self.is_over = True
        self()
