"""Calls of the disk fail, are cut off or are slow, as rules say; all others are made."""

import asyncio
import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_lite.log.files import disk_calls
from broker_lite.log.files.open_file import CREATE, OpenFile, SyncError
from broker_lite.testbench.faults.fault import Fault
from tests.testbench.conftest import FaultyBroker

LOG = "00000000000000000000.log"
ENDLESS_MS = 3_600_000


class FaultyDisk:
    """The data directory of a broker with a topic, its rules, and files in it."""

    def __init__(self, bench: FaultyBroker) -> None:
        self.bench = bench
        self.root = Path(bench.broker.cluster.logs.data_dir)
        self.rule = bench.rule
        self.faults = bench.faults

    def file(self, partition: str = "orders-0", name: str = LOG) -> OpenFile:
        """An open file, which is empty."""
        (self.root / partition).mkdir(exist_ok=True)
        return OpenFile(str(self.root / partition / name), CREATE)

    def size(self, partition: str = "orders-0", name: str = LOG) -> int:
        return (self.root / partition / name).stat().st_size


@pytest.fixture
def disk(bench: FaultyBroker) -> Iterator[FaultyDisk]:
    bench.topic("orders", 2)
    bench.faults.disk.begin(bench.broker.cluster)
    yield FaultyDisk(bench)
    bench.faults.clear()
    assert is_untouched()


def is_untouched() -> bool:
    calls: list[Any] = [disk_calls.pwrite, disk_calls.fsync, disk_calls.fdatasync]
    return calls == [os.pwrite, os.fsync, os.fdatasync]


def error_of(file: OpenFile, data: bytes = b"1234") -> int:
    """The number of the error of a write; 0 for none."""
    try:
        file.write(data, 0)
    except OSError as error:
        return error.errno or -1
    return 0


def sync_error_of(file: OpenFile, sync: str = "sync_data") -> int:
    """The number of the error of an fsync; 0 for none."""
    try:
        getattr(file, sync)()
    except SyncError as error:
        return error.errno or -1
    return 0


def in_a_thread(file: OpenFile) -> threading.Thread:
    thread = threading.Thread(target=file.sync_data)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ({}, errno.ENOSPC),
        ({"errno": "ENOSPC"}, errno.ENOSPC),
        ({"errno": "EIO"}, errno.EIO),
    ],
)
def test_a_write_fails_and_nothing_is_written(
    disk: FaultyDisk, rule: dict[str, str], error: int
) -> None:
    assert is_untouched()
    fault, file = disk.rule(disk="write", **rule), disk.file()
    assert error_of(file) == error
    assert disk.size() == 0
    assert (fault.hits, is_untouched()) == (1, True)
    assert error_of(file) == 0


@pytest.mark.parametrize("sync", ["sync", "sync_data"])
@pytest.mark.parametrize(("name", "error"), [(None, errno.EIO), ("ENOSPC", errno.ENOSPC)])
def test_an_fsync_fails(disk: FaultyDisk, sync: str, name: str | None, error: int) -> None:
    fault, file = disk.rule(disk="fsync", errno=name), disk.file()
    assert error_of(file) == 0
    assert sync_error_of(file, sync) == error
    assert fault.hits == 1
    assert sync_error_of(file, sync) == 0


def test_a_write_is_cut_off_and_the_rest_fails(disk: FaultyDisk) -> None:
    fault, file = disk.rule(disk="write", room_bytes=3, errno="EIO"), disk.file()
    assert error_of(file, b"123") == 0
    assert fault.near() == ["write of orders-0: there is room for its 3 bytes"]
    assert error_of(file) == errno.EIO
    assert (fault.hits, disk.size(), is_untouched()) == (1, 3, True)
    assert error_of(file) == 0
    assert disk.size() == 4


def test_a_write_that_was_cut_off_leaves_nothing_behind(disk: FaultyDisk) -> None:
    disk.rule(disk="write", room_bytes=3, count=-1)
    file = disk.file()
    assert disk_calls.pwrite(file.fd, b"1234", 0) == 3
    disk.faults.clear()
    disk.rule(disk="fsync")
    assert error_of(file) == 0


def test_only_files_with_batches_of_chosen_partitions(disk: FaultyDisk) -> None:
    chosen = disk.rule(disk="write", topic="ord*", partitions=[1], count=-1)
    others = [
        disk.file(),
        disk.file("orders-1", "00000000000000000000.index"),
        disk.file("orders-1", LOG + ".cleaned"),
        disk.file("orders-1.0123456789abcdef0123456789abcdef-delete"),
        disk.file("paid-1"),
        disk.file(".snapshots"),
    ]
    assert [error_of(file) for file in others] == [0] * len(others)
    assert sorted(chosen.near()) == [
        "write of orders-0: partition 0 is not 1",
        "write of paid-1: topic 'paid' is not 'ord*'; it names no partition",
    ]
    assert error_of(disk.file("orders-1")) == errno.ENOSPC
    assert chosen.hits == 1


def test_internal_topics_but_never_the_metadata(disk: FaultyDisk) -> None:
    fault = disk.rule(disk="write", topic="__*", count=-1)
    assert error_of(disk.file("__cluster_metadata-0")) == 0
    assert error_of(disk.file("__consumer_offsets-0")) == errno.ENOSPC
    assert fault.hits == 1


def test_a_rule_is_of_the_broker_that_leads(disk: FaultyDisk) -> None:
    node = disk.bench.context.node_id
    other, own = disk.bench.rules(
        {"disk": "write", "nodes": [node + 1], "errno": "EIO"}, {"disk": "write", "nodes": [node]}
    )
    assert error_of(disk.file("gone-0")) == error_of(disk.file("orders-7")) == 0
    assert error_of(disk.file()) == errno.ENOSPC
    assert (other.hits, own.hits) == (0, 1)
    assert f"write of orders-0: node {node} is not {node + 1}" in other.near()


def test_the_schedule_is_that_of_all_rules(disk: FaultyDisk) -> None:
    file = disk.file()
    disk.bench.rules(
        {"disk": "write", "skip": 1, "every": 2, "count": 2, "id": "a"},
        {"disk": "write", "errno": "EIO", "after": "a", "for_ms": 100, "count": -1},
    )
    full, broken = errno.ENOSPC, errno.EIO
    assert [error_of(file) for _ in range(6)] == [0, 0, full, 0, full, broken]
    disk.bench.now_ms = 100
    assert not is_untouched()
    assert error_of(file) == 0
    assert is_untouched()


def test_a_rule_by_chance_decides_the_same_again(disk: FaultyDisk) -> None:
    def errors() -> list[int]:
        fault = disk.rule(disk="write", probability=0.5, seed=7, count=-1)
        found = [error_of(disk.file()) for _ in range(20)]
        disk.faults.remove(fault.id)
        return found

    first = errors()
    assert set(first) == {0, errno.ENOSPC}
    assert errors() == first


def test_what_a_rule_did_is_kept_for_a_replay(disk: FaultyDisk) -> None:
    before = disk.faults.requests
    disk.rule(disk="write", skip=1)
    file = disk.file()
    assert [error_of(file), error_of(file)] == [0, errno.ENOSPC]
    assert [(each.match, each.request) for each in disk.faults.decisions] == [(2, before + 1)]


def test_a_slow_fsync_ends_with_its_rule(disk: FaultyDisk) -> None:
    async def run() -> Fault:
        disk.faults.disk.begin(disk.bench.broker.cluster)
        fault = disk.rule(disk="fsync", delay_ms=ENDLESS_MS)
        thread = in_a_thread(disk.file())
        await fault.wait(1, 10_000)  # the thread lets the loop tell who waits
        assert thread.is_alive()
        disk.faults.remove(fault.id)
        await asyncio.to_thread(thread.join, 10)
        assert not thread.is_alive()
        return fault

    assert asyncio.run(run()).hits == 1


@pytest.mark.parametrize("name", [None, "EIO"])
def test_a_slow_fsync_ends_with_the_life(disk: FaultyDisk, name: str | None) -> None:
    async def run() -> list[int]:
        disk.faults.disk.begin(disk.bench.broker.cluster)
        fault, file = disk.rule(disk="fsync", delay_ms=ENDLESS_MS, errno=name), disk.file()
        errors: list[int] = []
        thread = threading.Thread(target=lambda: errors.append(sync_error_of(file)))
        thread.start()
        await fault.wait(1, 10_000)
        disk.faults.disk.end()
        await asyncio.to_thread(thread.join, 10)
        return errors

    assert asyncio.run(run()) == [0]  # the disk of an end works


def test_a_slow_fsync_is_done_after_its_time(disk: FaultyDisk) -> None:
    file = disk.file()
    fault = disk.rule(disk="fsync", delay_ms=1)
    thread = in_a_thread(file)
    thread.join(10)
    assert fault.hits == 1
    slow = disk.rule(disk="fsync", delay_ms={"median": 1, "sigma": 0.1}, errno="EIO")
    failed: list[int] = []
    thread = threading.Thread(target=lambda: failed.append(sync_error_of(file)))
    thread.start()
    thread.join(10)
    assert (failed, slow.hits) == ([errno.EIO], 1)


def test_the_event_loop_does_not_wait(disk: FaultyDisk) -> None:
    slow = disk.rule(disk="fsync", delay_ms=ENDLESS_MS)
    assert sync_error_of(disk.file()) == 0
    assert slow.near() == ["fsync of orders-0: all clients would wait for it"]
    slow_and_broken = disk.rule(disk="fsync", delay_ms=ENDLESS_MS, errno="EIO")
    assert sync_error_of(disk.file()) == errno.EIO
    assert (slow.hits, slow_and_broken.hits) == (0, 1)


def test_the_disk_works_between_two_lives(disk: FaultyDisk) -> None:
    fault, file = disk.rule(disk="write", count=-1), disk.file()
    disk.faults.disk.end()
    assert error_of(file) == 0
    disk.faults.disk.begin(disk.bench.broker.cluster)
    assert error_of(file) == errno.ENOSPC
    assert fault.hits == 1


def test_a_file_without_a_name_is_none_of_a_rule(
    disk: FaultyDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: str) -> str:
        raise FileNotFoundError

    file = disk.file()
    disk.rule(disk="write", count=-1)
    monkeypatch.setattr(os, "readlink", fail)
    assert error_of(file) == 0


def test_an_fsync_of_a_loop_that_has_ended(disk: FaultyDisk) -> None:
    async def begin() -> None:
        disk.faults.disk.begin(disk.bench.broker.cluster)

    asyncio.run(begin())
    fault, file = disk.rule(disk="fsync"), disk.file()
    failed: list[int] = []
    thread = threading.Thread(target=lambda: failed.append(sync_error_of(file)))
    thread.start()
    thread.join(10)
    assert (failed, fault.hits) == ([errno.EIO], 1)
