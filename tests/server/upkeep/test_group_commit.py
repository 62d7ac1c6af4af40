"""S-32: flushes are made beside the event loop and shared; an answer comes after its flush."""

import errno
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import anyio
import pytest

from broker_lite.errors import ErrorCode, KafkaStorageError
from broker_lite.log.config import LogConfig
from broker_lite.log.log import Log
from broker_lite.log.visibility import Commits
from broker_lite.server.upkeep.group_commit import GroupCommit
from tests.log.logs import FOREVER_MS, append, open_log
from tests.support.disk import Disk

pytestmark = pytest.mark.anyio


class SlowDisk:
    """Each fdatasync waits for the test, is counted with its thread, and may fail."""

    def __init__(self, disk: Disk) -> None:
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.begun = threading.Semaphore(0)
        self.paths: list[str] = []
        self.threads: set[int] = set()
        self.error: Exception | None = None
        disk.around("fdatasync", self.sync)

    def sync(self, path: str, do: Callable[[], None]) -> None:
        self.paths.append(path)
        self.threads.add(threading.get_ident())
        self.begun.release()
        assert self.may_go_on.wait(10)
        if self.error is not None:
            raise self.error
        do()


@pytest.fixture
def disk(disk: Disk) -> Iterator[SlowDisk]:
    made = SlowDisk(disk)
    yield made
    made.may_go_on.set()


def make_log(directory: Path, commits: Commits) -> Log:
    log = open_log(directory, LogConfig(flush_messages=1, segment_ms=FOREVER_MS))
    log.visibility.commits = commits
    return log


async def append_and_wait(log: Log) -> KafkaStorageError | None:
    """As a handler does: the answer is ready when this returns."""
    append(log)
    flushed = anyio.Event()
    outcome: list[KafkaStorageError | None] = []

    def tell(error: KafkaStorageError | None) -> None:
        outcome.append(error)
        flushed.set()

    log.visibility.when_flushed(tell)
    await flushed.wait()
    return outcome[0]


async def test_s32_appends_that_come_together_share_a_flush(tmp_path: Path, disk: SlowDisk) -> None:
    commits = Commits()
    log = make_log(tmp_path, commits)
    async with GroupCommit(commits):
        async with anyio.create_task_group() as group:
            for _ in range(16):
                group.start_soon(append_and_wait, log)
        assert len(disk.paths) == 1
        assert (log.high_watermark, log.flusher.recovery_point) == (16, 16)
    assert threading.get_ident() not in disk.threads


async def test_s32_who_comes_during_a_flush_shares_the_next(tmp_path: Path, disk: SlowDisk) -> None:
    commits = Commits()
    log = make_log(tmp_path, commits)
    disk.may_go_on.clear()
    async with GroupCommit(commits), anyio.create_task_group() as group:
        group.start_soon(append_and_wait, log)
        await anyio.to_thread.run_sync(disk.begun.acquire)
        for _ in range(5):
            group.start_soon(append_and_wait, log)
        await anyio.wait_all_tasks_blocked()
        assert (log.log_end_offset, log.high_watermark, len(disk.paths)) == (6, 0, 1)
        disk.may_go_on.set()
    assert (log.high_watermark, len(disk.paths)) == (6, 2)


async def test_s32_several_logs_are_flushed_at_once(tmp_path: Path, disk: SlowDisk) -> None:
    commits = Commits()
    logs = [make_log(tmp_path / str(number), commits) for number in range(3)]
    disk.may_go_on.clear()
    async with GroupCommit(commits), anyio.create_task_group() as group:
        for log in logs:
            group.start_soon(append_and_wait, log)
        for _ in logs:  # all three are under way before one ends
            await anyio.to_thread.run_sync(disk.begun.acquire)
        disk.may_go_on.set()
    assert [log.high_watermark for log in logs] == [1, 1, 1]


async def test_s32_a_flush_that_fails_is_told_to_all_who_wait(
    tmp_path: Path, disk: SlowDisk
) -> None:
    commits = Commits()
    log, other = make_log(tmp_path / "a", commits), make_log(tmp_path / "b", commits)
    outcomes: list[KafkaStorageError | None] = []

    async def wait(of: Log) -> None:
        outcomes.append(await append_and_wait(of))

    disk.error = OSError(errno.EIO, "the disk is gone")
    async with GroupCommit(commits):
        async with anyio.create_task_group() as group:
            group.start_soon(wait, log)
            group.start_soon(wait, log)
        assert [error.code if error else 0 for error in outcomes] == [
            ErrorCode.KAFKA_STORAGE_ERROR,
            ErrorCode.KAFKA_STORAGE_ERROR,
        ]
        disk.error = None
        assert await append_and_wait(other) is None
    assert (log.high_watermark, other.high_watermark) == (0, 1)


async def test_s32_the_end_waits_for_what_is_under_way(tmp_path: Path, disk: SlowDisk) -> None:
    """Afterwards an append flushes itself."""
    commits = Commits()
    log = make_log(tmp_path, commits)
    disk.may_go_on.clear()
    async with anyio.create_task_group() as group:
        async with GroupCommit(commits):
            append(log)
            await anyio.to_thread.run_sync(disk.begun.acquire)
            group.start_soon(partial(anyio.to_thread.run_sync, disk.may_go_on.set))
        assert log.high_watermark == 1
    append(log)
    assert (log.high_watermark, commits.held) == (2, {})


async def test_who_is_told_may_append_at_once(tmp_path: Path, disk: SlowDisk) -> None:
    commits = Commits()
    log = make_log(tmp_path, commits)
    told: list[int] = []

    def tell(_: KafkaStorageError | None) -> None:
        told.append(log.high_watermark)
        if len(told) < 3:
            append(log)
            log.visibility.when_flushed(tell)

    async with GroupCommit(commits):
        append(log)
        log.visibility.when_flushed(tell)
    assert (told, log.high_watermark) == ([1, 2, 3], 3)


async def test_a_bug_in_a_flush_leaves_nobody_waiting(
    tmp_path: Path, disk: SlowDisk, caplog: pytest.LogCaptureFixture
) -> None:
    commits = Commits()
    log = make_log(tmp_path, commits)
    disk.error = ValueError("a bug")
    async with GroupCommit(commits):
        error = await append_and_wait(log)
    assert (error is not None, commits.held) == (True, {})
    assert "flush failed" in caplog.text
