"""Flush logs in threads; requests that arrive while a log is flushed share the next flush.

A log has at most one flush at a time, and several logs are flushed at once. A flush begins when the
event loop has no other work that is ready, so that requests that came together share the flush.
"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Final, Self

from broker_lite.errors import KafkaStorageError
from broker_lite.log.visibility import Commits, Visibility

logger = logging.getLogger("broker_lite.server")

FLUSHES_AT_ONCE: Final = 8
"""Measured on ext4: more fsyncs at once do not get more out of one disk's journal."""


class GroupCommit:
    """Flushes the logs that hold records back, from entering the context to leaving it."""

    def __init__(self, commits: Commits) -> None:
        """Set the logs' commits; no thread is started before the first flush."""
        self._commits = commits
        self._under_way: set[Visibility] = set()
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

    def _want(self, log: Visibility) -> None:
        if log not in self._under_way:
            self._under_way.add(log)
            self._is_idle.clear()
            self._running_loop.call_soon(self._begin, log)

    @property
    def _running_loop(self) -> asyncio.AbstractEventLoop:
        assert self._loop is not None
        return self._loop

    def _begin(self, log: Visibility) -> None:
        offset = log.end_offset
        flush = self._running_loop.run_in_executor(self._threads, log.flusher.flush_records, offset)
        flush.add_done_callback(partial(self._ended, log, offset))

    def _ended(self, log: Visibility, offset: int, flush: "asyncio.Future[None]") -> None:
        error = flush.exception()
        if error is not None and not isinstance(error, KafkaStorageError):  # a bug of ours
            logger.error("flush failed directory=%s", log.flusher.directory, exc_info=error)
            error = KafkaStorageError(repr(error))
        # a caller that was told may have appended more
        if log.flush_ended(offset, error) or log in self._commits.held:
            self._begin(log)
            return
        self._under_way.discard(log)
        if not self._under_way:
            self._is_idle.set()
