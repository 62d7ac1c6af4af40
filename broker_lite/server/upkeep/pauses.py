"""Wait by the broker's clock, which may be stepped."""

from typing import Final

import anyio

from broker_lite.control.clock import Clock

# No sleep is longer, so that no timer has to wait for Kafka's largest numbers.
_SLEEP_MS_MAX: Final = 3_600_000


class Pauses:
    """Lets tasks wait until some time has passed; a step of the clock wakes them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._stepped = anyio.Event()
        clock.watch(self._on_step)

    async def wait(self, pause_ms: int) -> None:
        """Return when so many milliseconds have passed, never earlier."""
        deadline_ms = self._clock.monotonic_ms() + pause_ms
        while (left_ms := deadline_ms - self._clock.monotonic_ms()) > 0:
            with anyio.move_on_after(min(left_ms, _SLEEP_MS_MAX) / 1000):
                await self._stepped.wait()

    def _on_step(self) -> None:
        self._stepped.set()
        self._stepped = anyio.Event()
