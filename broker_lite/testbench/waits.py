"""Waits for a state: one task looks again every 5 ms, for all callers that wait.

The broker has no hooks for most of what is waited for (the members of a group, a lag, connections),
and a hook in its request path would cost every client. A look takes some microseconds. Nothing runs
while nobody waits.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import msgspec

from broker_lite.errors import BrokerError
from broker_lite.testbench.errors import ControlError

_INTERVAL_S: Final = 0.005
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

    def look_again(self) -> None:
        """Answer the caller if the state is as it wants."""
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
            self._found_nothing(str(error) or error.code.name)
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
        text = f"{what} is not as wanted after {timeout_ms:g} ms"
        text += f": {wait.why}" if wait.why else ""
        raise ControlError(_TIMED_OUT, text, found=msgspec.to_builtins(wait.found))

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
                if not wait.answer.done():
                    wait.look_again()
