"""Flushing logs beside the event loop: whoever arrives while one is flushed shares the next flush.

One flush a log is under way at any time, several logs are flushed at once. A flush begins when the
event loop has done what it has to do at once, so that requests that came together share it.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Final, Self

from broker_lite.errors import KafkaStorageError
from broker_lite.log.commits import Commits
from broker_lite.log.durable_log import DurableLog

FLUSHES_AT_ONCE: Final = 8
"""Measured on ext4: more fsyncs at once do not get more out of one disk's journal."""


class GroupCommit:
    """Flushes the logs that hold records back, from entering the context to leaving it."""

    def __init__(self, commits: Commits) -> None:
        """Remember whose logs; no thread is started before the first flush."""
        self._commits = commits
        self._under_way: set[DurableLog] = set()
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._threads = ThreadPoolExecutor(FLUSHES_AT_ONCE, thread_name_prefix="flush")

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._commits.start = self._want
        return self

    async def __aexit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._commits.start = None
        await self._is_idle.wait()
        self._threads.shutdown()

    def _want(self, log: DurableLog) -> None:
        if log not in self._under_way:
            self._under_way.add(log)
            self._is_idle.clear()
            self._running_loop.call_soon(self._begin, log)

    @property
    def _running_loop(self) -> asyncio.AbstractEventLoop:
        assert self._loop is not None
        return self._loop

    def _begin(self, log: DurableLog) -> None:
        self._threads.submit(self._flush, log, log.log_end_offset)

    def _flush(self, log: DurableLog, offset: int) -> None:
        error = None
        try:
            log.flush_records(offset)
        except KafkaStorageError as failure:
            error = failure
        self._running_loop.call_soon_threadsafe(self._ended, log, offset, error)

    def _ended(self, log: DurableLog, offset: int, error: KafkaStorageError | None) -> None:
        if log.flush_ended(offset, error):
            self._begin(log)
            return
        self._under_way.discard(log)
        if not self._under_way:
            self._is_idle.set()
