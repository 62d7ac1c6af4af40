"""Waits for a state: one task looks again every 5 ms, for all callers that wait.

The broker has no hooks for most of what is waited for (the members of a group, a lag, connections),
and a hook in its request path would cost every client. Nothing runs while nobody waits.

A look takes some microseconds. One that takes long is made less often: all waits together take a
twentieth of a core.
"""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Final, Generic, TypeVar

import msgspec

from broker_lite.errors import BrokerError
from broker_lite.testbench.errors import ControlError

_INTERVAL_S: Final = 0.005
# Between two looks is so often the time that one took.
_PAUSES: Final = 20
_MS_PER_S: Final = 1000
_TIMED_OUT: Final = 408
_UNAVAILABLE: Final = 503
_NOT_FOUND: Final = 404

Found = TypeVar("Found")


class _Wait(Generic[Found]):
    """One caller that waits."""

    def __init__(
        self,
        look: Callable[[], Found],
        is_met: Callable[[Found], bool],
        answer: "asyncio.Future[Found]",
    ) -> None:
        self.look = look
        self.is_met = is_met
        self.answer = answer
        self.found: Found | None = None
        self.why = ""

        self.due_s = 0.0

    def look_again(self, waiting: int = 1) -> None:
        """Answer the caller if the state is as it wants.

        Args:
            waiting: how many callers wait, who share the time for looks.
        """
        began_s = monotonic()
        self._look()
        ended_s = monotonic()
        self.due_s = ended_s + (ended_s - began_s) * _PAUSES * waiting

    def _look(self) -> None:
        try:
            found = self.found = self.look()
            self.why = ""
            if self.is_met(found) and not self.answer.done():
                self.answer.set_result(found)
        except ControlError as error:
            # what is waited for is not there yet, or the broker begins anew
            self._found_nothing(error.text)
            if error.status not in (_NOT_FOUND, _UNAVAILABLE) and not self.answer.done():
                self.answer.set_exception(error)
        except BrokerError as error:
            self._found_nothing(_reason(error))
        except Exception as bug:
            if not self.answer.done():
                self.answer.set_exception(bug)

    def _found_nothing(self, why: str) -> None:
        self.found, self.why = None, why


class Waits:
    """All callers that wait for a state."""

    def __init__(self) -> None:
        """Begin with none."""
        self._pending: set[_Wait[object]] = set()
        self._large = 0
        self._task: asyncio.Task[None] | None = None

    async def until(
        self,
        look: Callable[[], Found],
        is_met: Callable[[Found], bool],
        timeout_ms: float,
        what: str,
    ) -> Found:
        """Wait until what is there is as the caller wants it.

        Args:
            look: finds what is there now; 404, 503 and errors of the protocol count as not there
                yet.
            is_met: whether that will do.
            timeout_ms: how long to wait at most; 0 looks once.
            what: for the error's text, such as "group g".

        Raises:
            ControlError: 408 after the time-out, with what is there then, or why there is nothing.
        """
        answer: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        wait = _Wait(look, is_met, answer)
        wait.look_again()
        if timeout_ms and not answer.done():
            await self._wait(wait, timeout_ms)  # type: ignore[arg-type]
            if not answer.done():
                wait.look_again()
        if answer.done():
            return answer.result()
        raise _timed_out(what, timeout_ms, wait.found, wait.why)

    async def until_all(
        self,
        is_met: Callable[[], Awaitable[bool]],
        tell: Callable[[], Awaitable[Found]],
        timeout_ms: float,
        what: str,
    ) -> Found:
        """Wait for a state that has many parts, so that a look has to let others run.

        Args:
            is_met: looks whether all is as the caller wants it; errors mean what they do in
                until().
            tell: tells what is there, once.
            timeout_ms: how long to wait at most; 0 looks once.
            what: for the error's text, such as "topic t".

        Raises:
            ControlError: 408 after the time-out, with what is there then.
        """
        end_s = monotonic() + timeout_ms / _MS_PER_S
        self._large += 1
        try:
            while True:
                began_s = monotonic()
                is_so, _ = await _if_there(is_met)
                if is_so:
                    told, _ = await _if_there(tell)
                    if told is not None:
                        return told
                ended_s = monotonic()
                if ended_s >= end_s:
                    raise _timed_out(what, timeout_ms, *await _if_there(tell))
                pause_s = max(_INTERVAL_S, (ended_s - began_s) * _PAUSES * self._large)
                await asyncio.sleep(min(pause_s, end_s - ended_s))
        finally:
            self._large -= 1

    async def _wait(self, wait: _Wait[object], timeout_ms: float) -> None:
        self._pending.add(wait)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._look_again())
        try:
            await asyncio.wait([wait.answer], timeout=timeout_ms / _MS_PER_S)
        finally:
            self._pending.discard(wait)

    async def _look_again(self) -> None:
        while self._pending:
            await asyncio.sleep(_INTERVAL_S)
            for wait in tuple(self._pending):
                if not wait.answer.done() and wait.due_s <= monotonic():
                    wait.look_again(len(self._pending))


async def _if_there(look: Callable[[], Awaitable[Found]]) -> tuple[Found | None, str]:
    """Return what a look finds; None and the reason if it is not there yet."""
    try:
        return await look(), ""
    except ControlError as error:
        if error.status not in (_NOT_FOUND, _UNAVAILABLE):
            raise
        return None, error.text
    except BrokerError as error:
        return None, _reason(error)


def _reason(error: BrokerError) -> str:
    return str(error) or error.code.name


def _timed_out(what: str, timeout_ms: float, found: object, why: str) -> ControlError:
    text = f"{what} is not as wanted after {timeout_ms:g} ms"
    text += f": {why}" if why else ""
    return ControlError(_TIMED_OUT, text, found=msgspec.to_builtins(found))
