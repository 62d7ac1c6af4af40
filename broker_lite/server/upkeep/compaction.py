"""The cleaner's threads: choose the next log, and clean it step by step.

A step that reads or writes runs in a worker thread. Between two such steps the new segment replaces
the old ones, in the event loop. The loop never waits for the cleaner.
"""

import logging
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import checkpoint

from broker_lite.control.clock import Clock
from broker_lite.errors import BrokerError
from broker_lite.log.cleaner.cleaner import Cleaner
from broker_lite.log.cleaner.eligibility import Cleanable
from broker_lite.log.cleaner.pace import CleaningStopped, Pace
from broker_lite.log.directory.manager import LogManager
from broker_lite.log.files.txn_index import CorruptTransactionIndex
from broker_lite.server.upkeep.pauses import Pauses
from broker_lite.settings import Settings

if TYPE_CHECKING:
    from broker_lite.log.cleaner.offset_map import MapLimits

logger = logging.getLogger("broker_lite.server")

T = TypeVar("T")

# How long a computing thread keeps the interpreter before the event loop gets it. Python's default
# of 5 ms would be added to each answer; this value costs the cleaner nothing measurable.
_TURN_S: Final = 0.0002


async def compact(logs: LogManager, get_settings: Callable[[], Settings], clock: Clock) -> None:
    """Compact the logs that need it, until cancelled; a step that has begun is then ended soon.

    Args:
        logs: the open logs.
        get_settings: returns the current settings.
        clock: of the broker.

    See: S-80 to S-91 (LogCleaner).
    """
    if not get_settings().log_cleaner_enable:
        return
    turn_s = sys.getswitchinterval()
    sys.setswitchinterval(_TURN_S)
    try:
        await _keep_threads(logs, get_settings, clock)
    finally:
        sys.setswitchinterval(turn_s)


async def _keep_threads(
    logs: LogManager, get_settings: Callable[[], Settings], clock: Clock
) -> None:
    """Keep as many cleaner threads as the settings currently say."""
    cleaner = Cleaner(
        logs.data_dir,
        logs.checkpoints.partitions,
        logs.removal,
        load=logs.get,
        now_ms=clock.now_ms,
    )
    pauses = Pauses(clock)
    workers: list[CleanerThread] = []
    async with anyio.create_task_group() as group:
        while True:
            wanted = get_settings().log_cleaner_threads
            while len(workers) < wanted:
                workers.append(CleanerThread(cleaner, get_settings, pauses, len(workers)))
                group.start_soon(workers[-1].run)
            del workers[wanted:]  # these end by themselves
            await pauses.wait(max(get_settings().log_cleaner_backoff_ms, 1))


class CleanerThread:
    """Cleans one log after the other.

    Args:
        cleaner: of the data directory.
        get_settings: returns the current settings.
        pauses: of the broker's clock.
        number: from 0 on; the thread ends if it is not below log.cleaner.threads.
    """

    def __init__(
        self,
        cleaner: Cleaner,
        get_settings: Callable[[], Settings],
        pauses: Pauses,
        number: int,
    ) -> None:
        self._cleaner = cleaner
        self._get_settings = get_settings
        self._pauses = pauses
        self._number = number
        self._pace = self._new_pace()
        self._limiter = anyio.CapacityLimiter(1)

    async def run(self) -> None:
        """Clean the logs that are due, and sleep if there are none, until cancelled.

        See: S-81 (CleanerThread.doWork).
        """
        async with anyio.create_task_group() as group:
            group.start_soon(self._stop_thread_at_the_end)
            while self._number < self._get_settings().log_cleaner_threads:
                if not await self.clean_dirtiest():
                    await self._pauses.wait(max(self._get_settings().log_cleaner_backoff_ms, 1))
            group.cancel_scope.cancel()

    async def _stop_thread_at_the_end(self) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            self._pace.stop()

    async def clean_dirtiest(self) -> bool:
        """Clean the log with the largest dirty ratio; return False if none was cleaned.

        See: S-81, S-91 (CleanerThread.cleanFilthiestLog).
        """
        found = await self._dirtiest()
        if found is None:
            return False
        try:
            return await self._clean(found)
        except CleaningStopped:
            logger.debug("cleaning stopped topic=%s-%d", found.log.topic, found.log.partition)
        except (BrokerError, OSError, CorruptTransactionIndex) as error:
            self._cleaner.failed(found.log, error)
        except Exception as error:
            # A bug of ours must not end the broker, nor stop the cleaning of other logs.
            logger.exception("cleaning broke topic=%s-%d", found.log.topic, found.log.partition)
            self._cleaner.failed(found.log, error)
        return False

    async def _dirtiest(self) -> Cleanable | None:
        best: Cleanable | None = None
        for each in self._cleaner.candidates():
            if each is None:
                await checkpoint()
            elif best is None or each.ratio > best.ratio:
                best = each
        return best

    async def _clean(self, found: Cleanable) -> bool:
        if not self._cleaner.is_still_due(found):
            return False
        self._pace = self._new_pace()
        cleaning = self._cleaner.begin(found, self._limits(), self._pace)
        try:
            await self._in_thread(cleaning.gather)
            while (cleaned := await self._in_thread(cleaning.rewrite_next)) is not None:
                self._cleaner.swap(cleaning, cleaned)
        finally:
            self._cleaner.done(cleaning)
        await self._in_thread(self._cleaner.checkpoint.write)
        return cleaning.is_complete

    async def _in_thread(self, work: Callable[[], T]) -> T:
        # It has its own limiter, because a long cleaning must not take threads from other work.
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)

    def _limits(self) -> "MapLimits":
        """See: S-82 (LogCleaner.cleanerConfig)."""
        from broker_lite.log.cleaner.offset_map import MapLimits

        settings = self._get_settings()
        size_bytes = settings.log_cleaner_dedupe_buffer_size // max(settings.log_cleaner_threads, 1)
        return MapLimits(size_bytes, settings.log_cleaner_io_buffer_load_factor)

    def _new_pace(self) -> Pace:
        limit = self._get_settings().log_cleaner_io_max_bytes_per_second
        return Pace(limit, lambda: time.monotonic_ns() // 1_000_000)
