"""How often others have their turn while something works."""

from collections.abc import Awaitable

import anyio
import pytest

from broker_lite.testbench.journal import turns


class Others:
    """Another task, which counts its turns."""

    async def while_running(self, work: Awaitable[object]) -> int:
        """Await some work; return how many turns the task had meanwhile."""
        count = 0

        async def count_turns() -> None:
            nonlocal count
            while True:
                count += 1
                await anyio.lowlevel.checkpoint()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(count_turns)
            await work
            tasks.cancel_scope.cancel()
        return count


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> Others:
    """Turns that end at once."""
    monkeypatch.setattr(turns, "TURN_S", 0)
    return Others()
