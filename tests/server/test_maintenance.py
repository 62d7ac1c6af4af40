"""What is done from time to time: S-31 to S-33, V-65."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from broker_lite.control.clock import Clock
from broker_lite.errors import KafkaStorageError
from broker_lite.log.manager import LogManager
from broker_lite.server.maintenance import maintain, repeat
from broker_lite.settings import Given, Settings

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> Any:
    return ("asyncio", {"use_uvloop": True})


async def test_work_is_repeated_and_a_full_disk_is_survived(
    caplog: pytest.LogCaptureFixture,
) -> None:
    runs = 0
    enough = anyio.Event()

    async def work() -> None:
        nonlocal runs
        runs += 1
        if runs == 3:
            enough.set()
        raise KafkaStorageError("the disk")

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(repeat, "work", 0, work)
            await enough.wait()
            group.cancel_scope.cancel()
    assert [record.getMessage() for record in caplog.records] == ["work failed reason=the disk"] * 3


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
