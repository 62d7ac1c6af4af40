"""Runs what blocks in threads, and hands the results to the thread of the run.

There are few jobs: connections that are opened, questions to the cluster. The threads are daemons,
so that a broker that does not answer never keeps the process from its end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeVar

from broker_lite.errors import ClientError, SettingsError

_Result = TypeVar("_Result")


class Jobs:
    """Jobs of one owner, who calls collect() now and then.

    Attributes:
        running: how many have not been collected.
    """

    def __init__(self) -> None:
        self.running = 0
        self._done: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def start(
        self, job: Callable[[], _Result], then: Callable[[_Result | ClientError], None]
    ) -> None:
        """Start a job; collect() calls `then` with its result.

        An error of the client or of the settings is a result, too: a ClientError.
        """

        def work() -> None:
            result: _Result | ClientError
            try:
                result = job()
            except ClientError as error:
                result = error
            except SettingsError as error:  # as of a file of properties that is gone meanwhile
                result = ClientError(str(error))
            self._done.put(lambda: then(result))

        self.running += 1
        threading.Thread(target=work, daemon=True).start()

    def collect(self, wait_s: float = 0) -> None:
        """Hand over the results that are there.

        Args:
            wait_s: how long to wait for the first one, if there is a job.
        """
        can_come = wait_s > 0 and self.running > 0
        try:
            finish = self._done.get(timeout=wait_s) if can_come else self._done.get_nowait()
            while True:
                self.running -= 1
                finish()
                finish = self._done.get_nowait()
        except Empty:
            return
