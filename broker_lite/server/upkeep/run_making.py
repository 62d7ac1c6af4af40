"""Make the canned runs of synthetic topics in a thread, one at a time.

See: F-16.
"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Self

from broker_lite.log.canned.run import CannedRun, make_run
from broker_lite.log.canned.runs import CannedRuns, RunPlace

logger = logging.getLogger("broker_lite.server")


class RunMaking:
    """Makes the runs that readers want, from entering the context to leaving it."""

    def __init__(self, runs: CannedRuns) -> None:
        """Set where runs are wanted; no thread is started before the first one."""
        self._runs = runs
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="canned-run")

    async def __aenter__(self) -> Self:
        self._runs.start = self._begin
        return self

    async def __aexit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._runs.start = None
        # The run that is being made takes less than a second.
        self._thread.shutdown(cancel_futures=True)

    def _begin(self, place: RunPlace) -> None:
        loop = asyncio.get_running_loop()
        making = loop.run_in_executor(self._thread, make_run, place.shape, self._runs.directory)
        making.add_done_callback(partial(self._ended, place))

    def _ended(self, place: RunPlace, making: "asyncio.Future[CannedRun]") -> None:
        if making.cancelled():
            return
        error = making.exception()
        if error is None:
            self._runs.ended(place, making.result())
            return
        logger.error("no canned run made shape=%s", place.shape, exc_info=error)
        self._runs.ended(place, None)
