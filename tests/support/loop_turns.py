"""Counts how often others have their turn while a request is worked on."""

import asyncio
from typing import Self


class LoopTurns:
    """A task that goes on in each round of the event loop, as long as a block runs.

    Attributes:
        count: how often it went on; the test may set it back.
    """

    def __init__(self) -> None:
        self.count = 0

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._go_on())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()

    async def _go_on(self) -> None:
        while True:
            await asyncio.sleep(0)
            self.count += 1
