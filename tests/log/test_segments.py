"""S-18, S-31: which segment holds an offset, how the next one begins, and the end of a topic."""

import os
from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.config import LogConfig
from broker_lite.log.files.names import SNAPSHOT_SUFFIX
from tests.log.logs import FOREVER_MS, NOW_MS, T0, append, open_log, segment_bases


def test_the_segment_of_an_offset_and_the_one_after_it(tmp_path: Path) -> None:
    """S-20."""
    log = open_log(tmp_path, LogConfig(segment_bytes=150, segment_ms=FOREVER_MS))
    for _ in range(5):
        append(log)
    segments = log.segments
    first, second, last = segments.all
    assert (first.base_offset, second.base_offset, last.base_offset) == (0, 2, 4)
    assert [segments.holding(offset) for offset in (-1, 1, 2, 3, 9)] == [
        first,
        first,
        second,
        second,
        last,
    ]
    assert [segments.after(each) for each in segments.all] == [second, last, None]
    assert segments.size_bytes == sum(os.stat(each.path).st_size for each in segments.all)


def test_s31_an_empty_segment_of_the_same_base_is_replaced(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    old = log.segments.active
    assert log.roll(NOW_MS) is log.segments.active is not old
    assert (segment_bases(tmp_path), len(log.segments.all)) == ([0], 1)
    append(log)
    log.roll(NOW_MS)
    assert segment_bases(tmp_path) == [0, 1]
    # What is in memory of the closed segment is in its files.
    assert log.segments.all[0].time_index.entry(0) == (T0, 0)


def test_s18_s31_a_new_segment_has_a_snapshot_of_the_producers(tmp_path: Path) -> None:
    """S-17: loading begins with the newest one."""
    log = open_log(tmp_path)
    append(log, producer=(7, 0, 0))
    log.roll(NOW_MS)
    snapshot = tmp_path / f"{1:020d}{SNAPSHOT_SUFFIX}"
    assert snapshot.read_bytes() == log.producer_state.to_snapshot()
    assert log.segments.snapshot_offset == 1


def test_a_failed_roll_leaves_the_old_segment_active(tmp_path: Path) -> None:
    """V-72: the append is refused, the next one works when the reason is gone."""
    log = open_log(tmp_path, LogConfig(segment_bytes=100))
    append(log)
    obstacle = tmp_path / "00000000000000000001.log"
    obstacle.mkdir()
    for _ in range(2):
        with pytest.raises(errors.KafkaStorageError):
            append(log)
    assert len(log.segments.all) == 1
    obstacle.rmdir()
    assert append(log).base_offset == 1
    assert segment_bases(tmp_path) == [0, 1]


def test_s18_a_snapshot_of_the_same_offset_is_not_written_again(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, producer=(7, 0, 0))
    for _ in range(2):
        log.segments.take_snapshot(1, log.producer_state)
        names = [path.name for path in tmp_path.glob("*" + SNAPSHOT_SUFFIX)]
        assert names == [f"{1:020d}{SNAPSHOT_SUFFIX}"]
        assert log.segments.snapshot_offset == 1
        (tmp_path / names[0]).write_bytes(b"")
    assert (tmp_path / names[0]).read_bytes() == b""


def test_s02_a_deleted_log_has_no_directory_to_write_into(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, producer=(7, 0, 0))
    assert log.segments.writable_directory() == str(tmp_path)
    log.segments.delete()
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(errors.KafkaStorageError):
        log.segments.writable_directory()
    with pytest.raises(errors.KafkaStorageError):
        log.segments.roll(1, log.producer_state, log.config, NOW_MS)
    with pytest.raises(errors.KafkaStorageError):
        log.segments.take_snapshot(1, log.producer_state)
    assert sorted(os.listdir(tmp_path)) == before
