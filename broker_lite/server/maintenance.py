"""What a broker does from time to time: checkpoints, flushes, chores, forgetting producers.

What waits for the disk runs in a worker thread; what touches state that handlers use runs in the
loop and is short. A failure is logged and tried again the next time.
"""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeAlias

import anyio
import anyio.to_thread

from broker_lite.control.clock import Clock
from broker_lite.errors import KafkaStorageError
from broker_lite.log.manager import LogManager
from broker_lite.settings import Settings

logger = logging.getLogger("broker_lite.server")

Work: TypeAlias = Callable[[], Awaitable[None]]

# An interval of Kafka's largest number means never; no timer has to know numbers of that size.
_NEVER_MS: Final = 10 * 365 * 24 * 3_600_000
_CHORES_INTERVAL_MS: Final = 200


async def maintain(logs: LogManager, settings: Settings, clock: Clock) -> None:
    """Run everything periodic until cancelled; work that has begun in a thread is finished.

    Rule: S-31, S-32, S-33, S-54, V-65.
    """
    async with anyio.create_task_group() as group:
        for name, interval_ms, work in (
            (
                "checkpoint",
                settings.log_flush_offset_checkpoint_interval_ms,
                partial(_in_thread, logs, logs.checkpoint),
            ),
            (
                "flush",
                settings.log_flush_scheduler_interval_ms,
                partial(_flush, logs, clock),
            ),
            ("chores", _CHORES_INTERVAL_MS, partial(_do_chores, logs)),
            (
                "expire producers",
                settings.producer_id_expiration_check_interval_ms,
                partial(_expire_producers, logs, clock),
            ),
        ):
            if interval_ms < _NEVER_MS:
                group.start_soon(repeat, name, interval_ms, work)


async def repeat(name: str, interval_ms: int, work: Work) -> None:
    """Do some work after every interval, until cancelled.

    Args:
        name: for the log.
        interval_ms: from the end of one run to the start of the next; 0 counts as 1.
        work: its KafkaStorageError is logged.
    """
    while True:
        await anyio.sleep(max(interval_ms, 1) / 1000)
        try:
            await work()
        except KafkaStorageError as error:
            logger.error("%s failed reason=%s", name, error.__cause__ or error)


async def _flush(logs: LogManager, clock: Clock) -> None:
    await _in_thread(logs, partial(logs.flush_due, clock.now_ms()))


async def _in_thread(logs: LogManager, work: Callable[[], None]) -> None:
    """Flush in a worker thread; a log that could not be flushed is offline afterwards."""
    try:
        await anyio.to_thread.run_sync(work)
    except KafkaStorageError:
        logs.offline.take_failed()
        raise


async def _do_chores(logs: LogManager) -> None:
    while logs.chores:
        await anyio.to_thread.run_sync(logs.chores.work)


async def _expire_producers(logs: LogManager, clock: Clock) -> None:
    logs.expire_producers(clock.now_ms())
