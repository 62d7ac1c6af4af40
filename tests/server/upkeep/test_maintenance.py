"""What is done from time to time: S-31 to S-33, S-50, S-54, S-70, V-65."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from broker_lite.control.clock import Clock
from broker_lite.errors import KafkaStorageError
from broker_lite.log.directory.manager import LogManager
from broker_lite.server.upkeep.maintenance import maintain, repeat
from broker_lite.server.upkeep.pauses import Pauses
from broker_lite.settings import Given, Settings
from tests.log.directory.test_retention import ID, config
from tests.log.logs import append, segment_bases

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> Any:
    return ("asyncio", {"use_uvloop": True})


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KafkaStorageError("the disk"), "work failed reason=the disk"),
        (ZeroDivisionError("a bug"), "work broke"),
    ],
)
async def test_work_is_repeated_whatever_fails(
    caplog: pytest.LogCaptureFixture, error: Exception, message: str
) -> None:
    runs = 0
    enough = anyio.Event()

    async def work() -> None:
        nonlocal runs
        runs += 1
        if runs == 3:
            enough.set()
        raise error

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(repeat, "work", 0, work, Pauses(Clock()))
            await enough.wait()
            group.cancel_scope.cancel()
    assert [record.getMessage() for record in caplog.records] == [message] * 3


async def test_s_33_checkpoints_are_written(tmp_path: Path) -> None:
    clock = Clock()
    logs = LogManager(tmp_path, node_id=1, now_ms=clock.now_ms)
    logs.open()
    texts = {
        "log.flush.offset.checkpoint.interval.ms": "0",
        "log.flush.scheduler.interval.ms": "1",
        "producer.id.expiration.check.interval.ms": "1",
    }
    settings = Settings({name: Given(text, "test") for name, text in texts.items()})
    checkpoint = tmp_path / "recovery-point-offset-checkpoint"
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(maintain, logs, settings, clock)
            while not checkpoint.exists():
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
    logs.close()


async def test_s50_s54_s70_segments_go_as_the_clock_is_stepped(tmp_path: Path) -> None:
    """The first check is after 30 s, the next five minutes later; files stay for a minute."""
    clock = Clock.standing_still()
    logs = LogManager(tmp_path, node_id=1, now_ms=clock.now_ms)
    logs.open()
    logs.create("t", 0, ID, config(retention_ms=100_000))
    logs.recover()
    log, directory = logs.get("t", 0), tmp_path / "t-0"
    for age_ms in (90_000, 60_000, 0):
        append(log, clock.now_ms() - age_ms)
    moved = anyio.Event()
    log.visibility.add_waiter(lambda: moved.set())
    starts = tmp_path / "log-start-offset-checkpoint"
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(maintain, logs, Settings(), clock)
            await anyio.wait_all_tasks_blocked()
            clock.step(30_000)
            await moved.wait()
            assert (log.log_start_offset, segment_bases(directory)) == (1, [1, 2])
            log.delete_records_before(3)
            while list(directory.glob("*.deleted")) or not starts.exists():
                clock.step(1000)
                await anyio.lowlevel.checkpoint()
            assert starts.read_text() == "0\n1\nt 0 3\n"
            while segment_bases(directory) != [3]:
                clock.step(1000)
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
    logs.close(sync=False)
