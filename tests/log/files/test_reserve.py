"""S-13: room on disk is reserved ahead of a busy segment, and shows in nothing but its cost."""

import os
import sys
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
    reserve.fallocate.cache_clear()
    try:
        log = open_log(tmp_path)
        for _ in range(6):
            append(log, T0, value=LARGE)
    finally:
        monkeypatch.undo()
        reserve.fallocate.cache_clear()
    assert Path(log.segments.active.path).stat().st_size == log.segments.active.size_bytes
    assert reserve.reserve_room(-1, 0, 4096) is False
