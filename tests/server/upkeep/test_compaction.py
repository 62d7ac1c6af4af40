"""Logs are compacted beside the event loop: S-80, S-81, S-89, S-91."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from broker_lite.control.clock import Clock
from broker_lite.log.cleaner.cleaning import Cleaning
from broker_lite.log.config import LogConfig
from broker_lite.log.directory.manager import LogManager
from broker_lite.log.log import Log
from broker_lite.log.read import read_log
from broker_lite.record.builder import BatchBuilder
from broker_lite.server.upkeep.compaction import compact
from broker_lite.settings import Given, Settings
from tests.log.cleaner.cleaning import config, records_of, view
from tests.log.directory.test_retention import ID
from tests.log.logs import batches_of, validated

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> Any:
    return ("asyncio", {"use_uvloop": True})


class Broker:
    """The logs of a directory, with the cleaner beside them."""

    def __init__(self, data_dir: Path) -> None:
        self.clock = Clock()
        self.data_dir = data_dir
        self.settings = settings()
        self.logs = LogManager(data_dir, node_id=1, now_ms=self.clock.now_ms)
        self.logs.open()
        self.logs.recover()

    def make(self, topic: str, given: LogConfig | None = None) -> Log:
        self.logs.create(topic, 0, ID, given if given is not None else config())
        return self.logs.get(topic, 0)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(compact, self.logs, lambda: self.settings, self.clock)
                yield
                group.cancel_scope.cancel()
        self.logs.close(sync=False)

    @property
    def checkpoint(self) -> str:
        path = self.data_dir / "cleaner-offset-checkpoint"
        return path.read_text() if path.exists() else ""

    async def until_checkpoint_names(self, line: str) -> None:
        while line not in self.checkpoint:
            await anyio.lowlevel.checkpoint()


def settings(**changed: str) -> Settings:
    texts = {"log.cleaner.backoff.ms": "1"}
    texts |= {f"log.cleaner.{name.replace('_', '.')}": text for name, text in changed.items()}
    return Settings({name: Given(text, "test") for name, text in texts.items()})


def append(log: Log, *values: str, now_ms: int = 0) -> None:
    """A record and a new segment for each value of one key."""
    for value in values:
        builder = BatchBuilder()
        builder.append(1_700_000_000_000, b"k", value.encode())
        log.append(validated(builder.build()), now_ms=now_ms)
        log.roll(now_ms)


def values(log: Log) -> list[str | None]:
    data = [each for one in log.segments.all for each in batches_of(Path(one.path).read_bytes())]
    return [value for _, _, value in records_of(map(view, data))]


def damage(log: Log) -> None:
    path = Path(log.segments.all[0].path)
    path.write_bytes(path.read_bytes()[:-1] + b"?")


async def test_s_81_logs_are_compacted_as_they_grow(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    log, other = broker.make("t"), broker.make("u", LogConfig())
    append(log, "1", "2", "3")
    append(other, "1", "2")
    async with broker.running():
        await broker.until_checkpoint_names("t 0 3\n")
        assert values(log) == ["3"]
        append(log, "4")
        await broker.until_checkpoint_names("t 0 4\n")
        assert values(log) == ["4"]
        assert values(other) == ["1", "2"]


async def test_an_open_segment_file_is_read_on_s89(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    log = broker.make("t")
    append(log, "1", "2")
    found = read_log(log, 0, max_bytes=1000).slice
    async with broker.running():
        await broker.until_checkpoint_names("t 0 2\n")
    assert found is not None
    assert b"k" in found.owner.read_at(found.position, found.size_bytes)  # type: ignore[attr-defined]


async def test_the_cleaner_can_be_switched_off(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    broker.settings = settings(enable="false")
    with anyio.fail_after(10):
        await compact(broker.logs, lambda: broker.settings, broker.clock)
    broker.logs.close(sync=False)


async def test_threads_come_and_go_with_the_setting(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    log = broker.make("t")
    append(log, "1", "2")
    broker.settings = settings(threads="1")
    async with broker.running():
        broker.settings = settings(threads="2")
        await broker.until_checkpoint_names("t 0 2\n")
        broker.settings = settings(threads="1")
        append(log, "3")
        await broker.until_checkpoint_names("t 0 3\n")


async def test_s_91_a_damaged_log_does_not_hold_up_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broker = Broker(tmp_path)
    damaged, log = broker.make("damaged"), broker.make("t", config(min_cleanable_dirty_ratio=0.9))
    append(damaged, "1", "2")
    append(log, "1", "2")
    damage(damaged)
    async with broker.running():
        await broker.until_checkpoint_names("t 0 2\n")
        while "log not cleaned topic=damaged-0" not in caplog.text:
            await anyio.lowlevel.checkpoint()
    assert values(log) == ["2"]


async def test_a_bug_does_not_end_the_broker_nor_hold_up_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = Broker(tmp_path)
    broken, log = broker.make("broken"), broker.make("t", config(min_cleanable_dirty_ratio=0.9))
    append(broken, "1", "2")
    append(log, "1", "2")
    gather = Cleaning.gather

    def gather_or_break(cleaning: Cleaning) -> None:
        if cleaning.job.log is broken:
            raise ZeroDivisionError("a bug")
        gather(cleaning)

    monkeypatch.setattr(Cleaning, "gather", gather_or_break)
    async with broker.running():
        await broker.until_checkpoint_names("t 0 2\n")
        while "log not cleaned topic=broken-0" not in caplog.text:
            await anyio.lowlevel.checkpoint()
    assert values(log) == ["2"]
    assert "cleaning broke topic=broken-0" in caplog.text


async def test_a_stop_does_not_wait_for_a_slow_cleaning(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    log = broker.make("t")
    append(log, "1", "2")
    broker.settings = settings(io_max_bytes_per_second="0.001")
    async with broker.running():
        while not log.segments.is_being_cleaned:
            await anyio.lowlevel.checkpoint()
    assert values(log) == ["1", "2"]
    assert broker.checkpoint == ""


async def test_a_topic_that_is_deleted_while_it_is_cleaned(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    log, other = broker.make("t"), broker.make("u")
    append(log, "1", "2")
    broker.settings = settings(io_max_bytes_per_second="2000")
    async with broker.running():
        while not log.segments.is_being_cleaned:
            await anyio.lowlevel.checkpoint()
        broker.logs.delete("t", 0)
        append(other, "1", "2")
        await broker.until_checkpoint_names("u 0 2\n")
    assert "t 0" not in broker.checkpoint
