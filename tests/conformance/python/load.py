"""The load of the writers of the Python clients; see `tests.conformance.clients`."""

import threading
from collections.abc import Callable
from typing import Final

from tests.conformance.python.lines import emit, name_of

PAUSE_S: Final = 0.01


def acked(partition: int, offset: int, value: int) -> None:
    """Print that a record of the load was acknowledged."""
    emit("acked", partition, offset, value)


def lost(partition: int, value: int, error: BaseException) -> None:
    """Print that the client gave a record of the load up."""
    emit("lost", partition, value, name_of(error))


class Load:
    """Writes 0, 1, 2, ... to each partition in a thread of its own."""

    def __init__(self, send: Callable[[int, int], None], partitions: int) -> None:
        """Start it; `send` gets a partition and a number, and does not wait for the broker."""
        self._send = send
        self._partitions = partitions
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._stopping.wait(PAUSE_S):
            for partition in range(self._partitions):
                self._send(partition, number)
            number += 1

    def stop(self) -> None:
        """End it, after the same number of records for each partition."""
        self._stopping.set()
        self._thread.join()
