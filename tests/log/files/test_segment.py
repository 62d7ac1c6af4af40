"""V-72, S-13: a write that fails leaves nothing, and appending works again when there is room."""

import os
from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.config import LogConfig
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.log import Log
from broker_lite.log.read import read_log
from tests.log.logs import (
    FOREVER_MS,
    STEM,
    T0,
    append,
    batch_bytes,
    content,
    end_transaction,
    files,
    open_log,
    segment_bases,
)
from tests.support.disk import Disk
from tests.support.small_disk import files_end_at

SIZE = len(batch_bytes())


@pytest.mark.parametrize("room", [0, 1, 12, SIZE - 1], ids="{} bytes left".format)
def test_v72_a_full_disk(tmp_path: Path, room: int) -> None:
    """Nothing half-written remains, reading goes on, and writing works again."""
    log = open_log(tmp_path)
    for _ in range(3):
        append(log, producer=(5, 0, log.log_end_offset))
    with files_end_at(3 * SIZE + room):
        for _ in range(2):
            with pytest.raises(errors.KafkaStorageError):
                append(log, producer=(5, 0, 3))
        assert os.stat(log.segments.active.path).st_size == 3 * SIZE
        assert len(content(read_log(log, 0, max_bytes=9999))) == 3 * SIZE
        assert log.log_end_offset == 3
    assert append(log, producer=(5, 0, 3)).base_offset == 3
    assert open_log(tmp_path, clean=False).log_end_offset == 4


def test_v72_a_short_write_is_completed(tmp_path: Path, disk: Disk) -> None:
    """The system may take a part; the rest follows."""
    log = open_log(tmp_path)
    real = os.pwrite
    disk.answer("pwrite", lambda fd, data, position: real(fd, data[:30], position))
    append(log)
    disk.mend()
    assert files(tmp_path)["00000000000000000000.log"][61:] == batch_bytes()[61:]


def test_v72_a_write_that_takes_nothing(tmp_path: Path, disk: Disk) -> None:
    log = open_log(tmp_path)
    disk.answer("pwrite", lambda *_: 0)
    with pytest.raises(errors.KafkaStorageError):
        append(log)


def test_v72_what_could_not_be_cut_is_cut_before_the_next_append(
    tmp_path: Path, disk: Disk
) -> None:
    log = open_log(tmp_path)
    append(log)
    torn_bytes = SIZE + 100  # more than what comes next covers
    with files_end_at(SIZE + torn_bytes):
        disk.refuse("ftruncate")
        for _ in range(2):
            with pytest.raises(errors.KafkaStorageError):
                append(log, value=b"x" * 200)
        assert os.stat(log.segments.active.path).st_size == SIZE + torn_bytes
    disk.mend()
    append(log)
    assert os.stat(log.segments.active.path).st_size == 2 * SIZE


def test_v72_what_could_not_be_cut_is_cut_before_the_next_marker(
    tmp_path: Path, disk: Disk
) -> None:
    log = open_log(tmp_path)
    append(log, producer=(5, 0, 0), transactional=True)
    begun = log.segments.size_bytes
    with files_end_at(begun + 300):
        disk.refuse("ftruncate")
        with pytest.raises(errors.KafkaStorageError):
            append(log, value=b"x" * 400)
    disk.mend()
    end_transaction(log, 5, commit=True)
    assert log.segments.size_bytes == os.stat(log.segments.active.path).st_size
    assert open_log(tmp_path, clean=False).log_end_offset == 2


def test_v72_a_torn_tail_is_cut_at_a_clean_stop(tmp_path: Path, disk: Disk) -> None:
    log = open_log(tmp_path)
    append(log)
    with files_end_at(SIZE + 20):
        disk.refuse("ftruncate")
        with pytest.raises(errors.KafkaStorageError):
            append(log)
        with pytest.raises(errors.KafkaStorageError):
            log.close()
    disk.mend()
    log.close()
    assert os.stat(log.segments.active.path).st_size == SIZE


def test_v72_a_full_disk_while_rolling(tmp_path: Path) -> None:
    """The index of the old segment cannot be written: it stays active, and rolls later."""
    config = LogConfig(index_interval_bytes=0, segment_bytes=600 * SIZE, segment_ms=FOREVER_MS)
    log = open_log(tmp_path, config)
    for _ in range(600):
        append(log)
    with files_end_at(0), pytest.raises(errors.KafkaStorageError):
        append(log)
    assert len(log.segments.all) == 1
    assert append(log).base_offset == 600
    assert [segment.base_offset for segment in log.segments.all] == [0, 600]
    log.close()
    expected = files(tmp_path)
    again = open_log(tmp_path, config, clean=False)
    again.close()
    assert files(tmp_path) == expected


@pytest.mark.parametrize("suffix", ["index", "timeindex", "txnindex"])
def test_v72_a_roll_that_fails_leaves_no_new_segment(tmp_path: Path, suffix: str) -> None:
    """What is appended to the old segment after it would lie behind a .log file of its offset."""
    log = open_log(tmp_path, LogConfig(index_interval_bytes=0, segment_ms=FOREVER_MS), now_ms=T0)
    in_the_way = tmp_path / f"{STEM}.{suffix}"
    in_the_way.unlink(missing_ok=True)
    in_the_way.mkdir()
    for sequence in range(2):
        append(log, producer=(5, 0, sequence), transactional=True)
    end_transaction(log, 5, commit=False, now_ms=T0)
    with pytest.raises(errors.KafkaStorageError):
        log.roll(T0)
    assert segment_bases(tmp_path) == [0]
    assert append(log).base_offset == 3
    in_the_way.rmdir()
    log.roll(T0)
    expected = files(tmp_path)
    assert len(expected[in_the_way.name]) == {"index": 24, "timeindex": 12, "txnindex": 34}[suffix]
    assert segment_bases(tmp_path) == [0, 4]


def test_s32_a_flush_of_rolled_segments_leaves_the_active_one_alone(
    tmp_path: Path, disk: Disk
) -> None:
    log = open_log(tmp_path)
    append(log)
    log.roll(T0)
    append(log)
    synced = disk.watch()
    log.flush(1)
    assert log.flusher.recovery_point == 1
    assert [name for name in synced if name.endswith(".log")] == [str(tmp_path / f"{STEM}.log")]
    assert synced[-2:] == [str(tmp_path), str(tmp_path.parent)]


def test_v72_a_flush_that_fails(tmp_path: Path, disk: Disk) -> None:
    log: Log = open_log(tmp_path)
    append(log)
    disk.refuse("fsync")
    with pytest.raises(errors.KafkaStorageError):
        log.flush()
    assert log.flusher.recovery_point == 0
    disk.mend()
    for use in (log.flush, lambda: append(log), log.close):  # a second fsync would prove nothing
        with pytest.raises(errors.KafkaStorageError):
            use()
    assert log.flusher.recovery_point == 0


def test_s32_a_flush_leaves_the_cache_of_open_files_alone(tmp_path: Path) -> None:
    """A worker thread flushes; the cache is the event loop's."""
    cache = FileCache()
    log = open_log(tmp_path, cache=cache)
    append(log)
    cache.discard(log.segments.active.path)
    log.flush()
    assert (log.flusher.recovery_point, len(cache)) == (1, 0)


def test_s16_the_newest_timestamp_is_that_of_the_time_index(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    assert log.segments.active.max_timestamp_entry() == (-1, 0)
    append(log, T0)
    append(log, T0 - 1)
    log.close()
    segment = open_log(tmp_path, recovery_point=2).segments.active
    segment.forget_max_timestamp()
    assert segment.max_timestamp_entry() == (T0, 0)


def test_the_recent_positions_are_few(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    for _ in range(200):
        append(log)
    assert len(log.segments.active.recent) <= 64
    assert [len(content(read_log(log, o, max_bytes=SIZE))) for o in (0, 100, 199)] == [SIZE] * 3


@pytest.mark.parametrize("value_bytes", [30, 3_000, 9_000])
def test_s20_each_offset_is_found_in_its_batch(tmp_path: Path, value_bytes: int) -> None:
    """With one batch or many between two entries of the index, in memory and in its file."""
    log = open_log(tmp_path)
    sizes = []
    for number in range(40):
        size_bytes = log.segments.active.size_bytes
        append(log, T0, T0, value=b"x" * (value_bytes if number % 3 else 5_000))
        sizes.append(log.segments.active.size_bytes - size_bytes)
    segment = log.segments.active
    places = [(sum(sizes[:number]), size) for number, size in enumerate(sizes)]
    for _ in range(2):
        assert [segment.find(offset) for offset in range(80)] == sorted(places * 2)
        assert segment.find(80) is None
        segment.close()


def test_s31_what_an_earlier_segment_of_this_name_left_goes(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log)
    left = tmp_path / f"{1:020d}.txnindex"
    left.write_bytes(b"of an earlier segment")
    log.roll(T0)
    append(log)
    assert not left.exists()
