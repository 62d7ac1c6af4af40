"""Turns of long work: a look at many entries must not keep the clients waiting."""

from time import monotonic
from typing import Final

from anyio.lowlevel import checkpoint

TURN_S: Final = 0.005
"""A twentieth of what a client notices; a large answer of the broker has turns of the same size."""


class Turns:
    """Lets other tasks run when the work took long enough since they last did."""

    def __init__(self) -> None:
        """Begin the first turn."""
        self._since = monotonic()

    async def next(self) -> None:
        """Let other tasks run if this turn was long enough."""
        if monotonic() - self._since >= TURN_S:
            await checkpoint()
            self._since = monotonic()
