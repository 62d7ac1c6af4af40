"""Processes that have loaded the program, and wait to be told which broker they are.

To load the program takes most of the time of a start. So one such process is kept waiting while the
cluster runs, and takes the place of one that ends.
"""

import asyncio
import socket
from typing import Final, TypeAlias

import anyio
from anyio import to_thread

from broker_lite.server.processes.spawning import Spawned, spawn

Started: TypeAlias = tuple[Spawned, socket.socket]
"""A process that waits, and the socket to it."""

_END_TIMEOUT_S: Final = 1.0
# A process that has just begun to serve clients comes first.
_PREPARE_AFTER_S: Final = 0.5


class Waiting:
    """The processes that wait; used by the event loop."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._started: list[Started] = []
        self._preparing: asyncio.Task[None] | None = None

    def start(self, count: int) -> None:
        """Start some processes.

        Raises:
            OSError: the machine has no room for one.
        """
        for _ in range(count):
            self._started.append(spawn())

    async def take(self) -> Started:
        """Return a process that waits, or a new one.

        Raises:
            OSError: the machine has no room for it.
        """
        while self._started:
            started = self._started.pop(0)
            if started[0].is_running:
                return started
            started[1].close()
        return await to_thread.run_sync(spawn)

    def prepare(self) -> None:
        """Let one process wait from soon on, if none does."""
        if not self._started and self._preparing is None:
            self._preparing = asyncio.create_task(self._prepare())

    async def _prepare(self) -> None:
        try:
            await anyio.sleep(_PREPARE_AFTER_S)
            with anyio.CancelScope(shield=True):
                self._started.append(await to_thread.run_sync(spawn))
        except OSError:
            pass  # then the next start takes longer, or tells why it cannot be
        finally:
            self._preparing = None

    async def stop(self) -> None:
        """Start no process any more."""
        if self._preparing is not None:
            self._preparing.cancel()
            await asyncio.wait([self._preparing])

    def close(self) -> None:
        """End the processes that wait: their sockets close."""
        for _, sock in self._started:
            sock.close()
        for spawned, _ in self._started:
            spawned.wait(_END_TIMEOUT_S)
        self._started.clear()
