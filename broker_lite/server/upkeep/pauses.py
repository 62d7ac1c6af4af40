"""Wait by the broker's clock, which may be stepped and frozen."""

from typing import Final

import anyio

from broker_lite.control.clock import Clock

# No sleep is longer, so that no timer has to wait for Kafka's largest numbers.
_SLEEP_MS_MAX: Final = 3_600_000


class Pauses:
    """Lets tasks wait until some time has passed; a step or the end of a freeze wakes them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._stepped = anyio.Event()
        clock.watch(self._on_step)

    async def wait(self, pause_ms: int) -> None:
        """Return when so many milliseconds have passed, never earlier."""
        await self.wait_until(self._clock.monotonic_ms() + pause_ms)

    async def wait_until(self, deadline_ms: int) -> None:
        """Return when the clock's monotonic milliseconds have a value, never earlier."""
        while (left_ms := deadline_ms - self._clock.monotonic_ms()) > 0:
            # a frozen clock would have the same time left after the sleep
            sleep_ms = _SLEEP_MS_MAX if self._clock.is_frozen else min(left_ms, _SLEEP_MS_MAX)
            with anyio.move_on_after(sleep_ms / 1000):
                await self._stepped.wait()

    def _on_step(self) -> None:
        self._stepped.set()
        self._stepped = anyio.Event()
