"""S-13: room on disk is reserved ahead of a busy segment, and shows in nothing but its cost."""

import os
import sys
import tempfile
from pathlib import Path

import pytest

from broker_lite.log.config import LogConfig
from broker_lite.log.files import reserve
from tests.log.logs import FOREVER_MS, T0, append, open_log, segment_bases

LARGE = bytes(300_000)

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="fallocate is Linux's")


def allocated_bytes(path: Path) -> int:
    return os.stat(path).st_blocks * 512


@on_linux
def test_the_file_keeps_its_size_and_gives_the_rest_back(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    for _ in range(5):
        append(log, T0, value=LARGE)
    path = Path(log.segments.active.path)
    size_bytes = log.segments.active.size_bytes
    assert path.stat().st_size == size_bytes
    if allocated_bytes(path) < 4 << 20:
        pytest.skip("this file system reserves nothing")
    log.segments.active.save()
    assert path.stat().st_size == size_bytes
    assert allocated_bytes(path) < size_bytes + 65_536
    append(log, T0, value=LARGE)
    assert path.stat().st_size == log.segments.active.size_bytes > size_bytes


@on_linux
def test_a_small_segment_reserves_nothing(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, T0, value=LARGE)
    assert allocated_bytes(Path(log.segments.active.path)) < 1 << 20


def test_a_rolled_segment_holds_no_more_than_it_needs(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(segment_bytes=1_300_000, segment_ms=FOREVER_MS))
    for _ in range(9):
        append(log, T0, value=LARGE)
    assert len(segment_bases(tmp_path)) == 3
    for segment in log.segments.all[:-1]:
        assert allocated_bytes(Path(segment.path)) < segment.size_bytes + 65_536


def test_without_fallocate_everything_else_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    reserve.system_library.cache_clear()
    try:
        log = open_log(tmp_path)
        for _ in range(6):
            append(log, T0, value=LARGE)
    finally:
        monkeypatch.undo()
        reserve.system_library.cache_clear()
    assert Path(log.segments.active.path).stat().st_size == log.segments.active.size_bytes
    assert reserve.reserve_room(-1, 0, 4096) is False


@on_linux
def test_in_memory_nothing_is_reserved() -> None:
    memory = Path("/dev/shm")
    if f"tmpfs {memory} tmpfs" not in Path("/proc/mounts").read_text():
        pytest.skip("this system has no tmpfs there")
    with tempfile.TemporaryFile(dir=memory) as file:
        assert reserve.is_in_memory(file.fileno())
        assert not reserve.reserve_room(file.fileno(), 0, 1 << 20)
        assert os.fstat(file.fileno()).st_blocks == 0


@on_linux
def test_a_closed_file_is_not_in_memory() -> None:
    assert not reserve.is_in_memory(-1)
