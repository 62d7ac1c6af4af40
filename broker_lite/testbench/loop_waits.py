"""How long bytes that arrive wait until the event loop reads them.

A thread sends a byte to the loop, again and again. A loop that is at work all the time reads it as
late as it reads the requests of clients.
"""

import asyncio
import socket
from threading import Event, Semaphore, Thread
from time import perf_counter
from typing import Final, Self

_EVERY_S: Final = 0.01


class LoopWaits:
    """Measures from enter to exit, in a running event loop; a context manager.

    Attributes:
        count: of the bytes that were read.
        sum_s: how long they have waited, all together.
    """

    def __init__(self) -> None:
        """Measure nothing yet."""
        self.count = 0
        self.sum_s = 0.0
        self._sent_s = 0.0
        self._is_over = Event()
        # Counts, so that a release in __exit__ is never lost: join() would block the loop for ever.
        self._read_bytes = Semaphore(0)
        self._thread = Thread(target=self._send, name="loop-waits", daemon=True)
        self._near, self._far = socket.socketpair()
        self._near.setblocking(False)

    @property
    def mean_s(self) -> float:
        """How long a byte has waited on average; 0 if none was read."""
        return self.sum_s / self.count if self.count else 0.0

    def __enter__(self) -> Self:
        asyncio.get_running_loop().add_reader(self._near.fileno(), self._read)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._read_bytes.release()
        self._thread.join()
        asyncio.get_running_loop().remove_reader(self._near.fileno())
        self._near.close()
        self._far.close()

    def _read(self) -> None:
        self._near.recv(1)
        self.sum_s += perf_counter() - self._sent_s
        self.count += 1
        self._read_bytes.release()

    def _send(self) -> None:
        """Send one byte after the other, each when the one before was read; in the thread."""
        while not self._is_over.wait(_EVERY_S):
            self._sent_s = perf_counter()
            self._far.send(b".")
            self._read_bytes.acquire()
