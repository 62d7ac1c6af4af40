"""The periodic work of a broker: checkpoints, flushes, retention, chores, expiry of producers.

Intervals are measured by the broker's clock: when the clock is stepped forward, the work becomes
due. Work that waits for the disk runs in a worker thread; work on state that handlers use runs in
the loop and is short. A failure is logged, and the work is tried again after the next interval. The
threads are not those that requests wait for, so that records can be decompressed while a disk
hangs.
"""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeAlias

import anyio
from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import checkpoint

from broker_lite.control.clock import Clock
from broker_lite.errors import KafkaStorageError, cause_of
from broker_lite.log.directory.manager import LogManager
from broker_lite.log.directory.upkeep import expire_producers, flush_due
from broker_lite.server.upkeep.pauses import Pauses
from broker_lite.settings import Settings

logger = logging.getLogger("broker_lite.server")

Work: TypeAlias = Callable[[], Awaitable[None]]

# Kafka's largest number as an interval means never. So no timer has to wait for such a number.
_NEVER_MS: Final = 10 * 365 * 24 * 3_600_000
_CHORES_INTERVAL_MS: Final = 200
_THREADS_MAX: Final = 4


async def maintain(logs: LogManager, settings: Settings, clock: Clock) -> None:
    """Run all periodic work until cancelled; work that has begun in a thread is finished.

    See: S-31 to S-33, S-50, S-54, S-70, V-65.
    """
    pauses = Pauses(clock)
    threads = CapacityLimiter(_THREADS_MAX)
    async with anyio.create_task_group() as group:
        for name, interval_ms, work in (
            (
                "checkpoint",
                settings.log_flush_offset_checkpoint_interval_ms,
                partial(_in_thread, logs, threads, logs.checkpoint),
            ),
            (
                "checkpoint of log start offsets",
                settings.log_flush_start_offset_checkpoint_interval_ms,
                partial(to_thread.run_sync, logs.checkpoints.write_log_starts, limiter=threads),
            ),
            (
                "flush",
                settings.log_flush_scheduler_interval_ms,
                partial(_flush, logs, threads, clock),
            ),
            ("chores", _CHORES_INTERVAL_MS, partial(_do_chores, logs, threads)),
            (
                "expire producers",
                settings.producer_id_expiration_check_interval_ms,
                partial(_expire_producers, logs, clock),
            ),
        ):
            if interval_ms < _NEVER_MS:
                group.start_soon(repeat, name, interval_ms, work, pauses)
        group.start_soon(
            partial(
                repeat,
                "retention",
                settings.log_retention_check_interval_ms,
                partial(check_retention, logs, threads),
                pauses,
                first_ms=settings.log_initial_task_delay_ms,
            )
        )


async def repeat(
    name: str, interval_ms: int, work: Work, pauses: Pauses, *, first_ms: int | None = None
) -> None:
    """Do some work after every interval, until cancelled.

    Args:
        name: for the log.
        interval_ms: from the end of one run to the start of the next; 0 counts as 1.
        work: the work; its errors are logged.
        pauses: of the broker's clock.
        first_ms: the pause before the first run; None for the same interval.
    """
    pause_ms = interval_ms if first_ms is None else first_ms
    while True:
        await pauses.wait(max(pause_ms, 1))
        pause_ms = interval_ms
        try:
            await work()
        except KafkaStorageError as error:
            logger.error("%s failed reason=%s", name, cause_of(error))
        except Exception:  # a bug of ours must not end the broker, as it does not in Kafka
            logger.exception("%s broke", name)


async def check_retention(logs: LogManager, threads: CapacityLimiter | None = None) -> None:
    """Remove the segments of all logs that are due, and let other tasks run between the steps.

    Args:
        logs: the open logs.
        threads: the limiter of the threads to use.

    See: S-50 (LogManager.cleanupLogs).
    """
    for keys in logs.retention.unread():
        await to_thread.run_sync(logs.retention.read, keys, limiter=threads)
    for _ in logs.retention.steps():
        await checkpoint()


async def _flush(logs: LogManager, threads: CapacityLimiter, clock: Clock) -> None:
    await _in_thread(logs, threads, partial(flush_due, logs, clock.now_ms()))


async def _in_thread(logs: LogManager, threads: CapacityLimiter, work: Callable[[], None]) -> None:
    """Flush in a worker thread; a log that could not be flushed is offline afterwards."""
    try:
        await to_thread.run_sync(work, limiter=threads)
    except KafkaStorageError:
        logs.offline.take_failed()
        raise


async def _do_chores(logs: LogManager, threads: CapacityLimiter) -> None:
    while logs.chores:
        await to_thread.run_sync(logs.chores.work, limiter=threads)
    while logs.removal.has_due():
        await to_thread.run_sync(logs.removal.unlink_due, limiter=threads)


async def _expire_producers(logs: LogManager, clock: Clock) -> None:
    expire_producers(logs, clock.now_ms())
