"""Scripts for async tests."""

import os
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Self

from anyio import CancelScope
from anyio.to_thread import run_sync

if TYPE_CHECKING:
    from broker_lite.testing.scripts import Script


class AsyncScript:
    """A Script with coroutines; it runs from the `async with` on."""

    def __init__(self, make: "Callable[[], Script]") -> None:
        """Take what starts the script."""
        self._make = make
        self._made: Script | None = None

    @property
    def script(self) -> "Script":
        """The same with blocking methods.

        Raises:
            RuntimeError: it does not run yet.
        """
        if self._made is None:
            raise RuntimeError("the script does not run: use `async with`")
        return self._made

    @property
    def id(self) -> str:
        """See Script.id."""
        return self.script.id

    @property
    def seed(self) -> int:
        """See Script.seed."""
        return self.script.seed

    async def state(self) -> dict[str, object]:
        """See Script.state()."""
        return await run_sync(self.script.state)

    async def wait(
        self,
        timeout: timedelta | None = None,  # noqa: ASYNC109 - as the broker does
    ) -> None:
        """See Script.wait()."""
        await run_sync(self.script.wait, timeout, abandon_on_cancel=True)

    async def record(self) -> dict[str, object]:
        """See Script.record()."""
        return await run_sync(self.script.record)

    async def save(self, path: str | os.PathLike[str]) -> None:
        """See Script.save()."""
        await run_sync(self.script.save, path)

    async def end(self) -> None:
        """See Script.end()."""
        await run_sync(self.script.end)

    async def __aenter__(self) -> Self:
        """Run it."""
        self._made = await run_sync(self._make)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """See Script.__exit__(); it is ended also if the test is cancelled."""
        if error is None:
            await self._leave()
        else:
            with CancelScope(shield=True):
                await run_sync(self.script.__exit__, kind, error, traceback)

    async def _leave(self) -> None:
        """Wait for it, and end it whatever happens meanwhile."""
        __tracebackhide__ = True
        try:
            if not self.script.has_ended:
                await self.wait()
        finally:
            with CancelScope(shield=True):
                await self.end()
