"""The log as a whole: vectors TV-60 to TV-68, duplicates, markers, log start, waiters.

Also tests: broker_lite.log.parts.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.config import LogConfig
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.log import COORDINATOR
from broker_lite.log.read import read_log
from broker_lite.log.recovery.loading import LoadRequest, new_log
from broker_lite.record.batch import RecordBatch
from broker_lite.record.control import EndTransactionMarker
from tests.log.logs import (
    FOREVER_MS,
    NOW_MS,
    STEM,
    T0,
    append,
    batch_bytes,
    batches_of,
    content,
    end_transaction,
    files,
    open_log,
    segment_bases,
    validated,
    vector,
)
from tests.support.disk import Disk

VECTOR_CONFIG = LogConfig(index_interval_bytes=100, segment_ms=FOREVER_MS)


@pytest.fixture
def vector_directory(tmp_path: Path) -> Path:
    """TV-60: the appends of the vectors, then a clean stop."""
    log = open_log(tmp_path / "p", VECTOR_CONFIG)
    *data_batches, _ = batches_of(vector("TV-60"))
    for data in data_batches:
        log.append(validated(data), now_ms=NOW_MS)
    assert log.append_control(2000, 0, EndTransactionMarker(False, 4), now_ms=NOW_MS) == 10
    log.close()
    return tmp_path / "p"


def test_tv60_to_tv67_the_same_appends_give_the_same_files(vector_directory: Path) -> None:
    """TV-60, TV-61, TV-62, TV-63, TV-64, TV-67, S-10, S-11, S-13, S-14, S-16, S-47."""
    assert files(vector_directory) == {
        f"{STEM}.log": vector("TV-60"),
        f"{STEM}.index": vector("TV-61"),
        f"{STEM}.timeindex": vector("TV-62"),
        f"{STEM}.txnindex": vector("TV-63"),
        "00000000000000000011.snapshot": vector("TV-64"),
        "leader-epoch-checkpoint": b"0\n1\n0 0\n",
    }


@pytest.mark.parametrize(("is_append_time", "attributes"), [(False, 0x30), (True, 0x38)])
def test_v42_a_marker_has_the_timestamp_type_of_its_topic(
    tmp_path: Path, is_append_time: bool, attributes: int
) -> None:
    log = open_log(tmp_path / "p", LogConfig(is_append_time=is_append_time))
    log.append_control(7, 0, EndTransactionMarker(True, 4), now_ms=NOW_MS)
    (data,) = batches_of((tmp_path / "p" / f"{STEM}.log").read_bytes())
    batch = RecordBatch(memoryview(data), 0, len(data))
    assert (batch.attributes, batch.max_timestamp) == (attributes, NOW_MS)
    assert batch.crc_is_valid()


def test_tv68_recovery_of_a_damaged_directory(vector_directory: Path) -> None:
    """TV-68, S-12, S-43, S-44: cut at the last whole batch, all indexes rebuilt."""
    expected = files(vector_directory)
    with (vector_directory / f"{STEM}.log").open("ab") as log_file:
        log_file.write(vector("TV-60")[645:705] + b"\xff" * 40)
    (vector_directory / f"{STEM}.index").write_bytes(b"\xff" * 32)
    (vector_directory / "00000000000000000011.snapshot").unlink()
    log = open_log(vector_directory, VECTOR_CONFIG, clean=False)
    assert log.log_end_offset == 11
    log.close()
    assert files(vector_directory) == expected


def test_s61_each_start_as_leader_of_a_new_epoch_adds_an_entry(vector_directory: Path) -> None:
    """S-61, S-63, S-65, TV-67, V-51: an entry without records goes when the log is loaded again."""
    for epoch in (1, 2):
        open_log(vector_directory, VECTOR_CONFIG).become_leader(epoch)
    text = (vector_directory / "leader-epoch-checkpoint").read_bytes()
    assert text == b"0\n2\n0 0\n2 11\n"
    log = open_log(vector_directory, VECTOR_CONFIG)
    assert log.leader_epoch == 0
    log.become_leader(3)
    assert log.epochs.end_offset_for(0, log.log_end_offset) == (0, 11)
    assert log.epochs.end_offset_for(3, log.log_end_offset) == (3, 11)
    append(log)
    assert (
        RecordBatch(memoryview(content(read_log(log, 11, max_bytes=999))), 0, 71).leader_epoch == 3
    )


def test_s34_a_duplicate_rolls_an_empty_segment(tmp_path: Path) -> None:
    """S-34 (probed), V-53, V-54, S-18: the roll comes before the duplicate is seen."""
    log = open_log(tmp_path, LogConfig(segment_bytes=200))
    for sequence in (0, 1):
        append(log, producer=(5, 0, sequence))
    again = append(log, producer=(5, 0, 1))
    assert again == (1, 1, T0, 0, True)
    assert segment_bases(tmp_path) == [0, 2]
    assert (tmp_path / "00000000000000000002.log").read_bytes() == b""
    assert (tmp_path / "00000000000000000002.snapshot").exists()
    assert log.log_end_offset == 2


def test_v52_a_set_larger_than_a_segment(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(segment_bytes=80))
    with pytest.raises(errors.RecordListTooLarge):
        append(log, value=b"x" * 100)
    assert append(log).base_offset == 0


@pytest.mark.parametrize(
    ("producer", "error"),
    [
        pytest.param((5, 1, 7), errors.OutOfOrderSequenceNumber, id="V-57 gap"),
        pytest.param((5, 0, 0), errors.InvalidProducerEpoch, id="V-56 older epoch"),
    ],
)
def test_v54_to_v58_a_refused_batch_changes_nothing(
    tmp_path: Path, producer: tuple[int, int, int], error: type[errors.BrokerError]
) -> None:
    """V-43: the next offset stays as it is, too."""
    log = open_log(tmp_path)
    append(log, producer=(5, 1, 0))
    with pytest.raises(error):
        append(log, producer=producer)
    assert log.log_end_offset == 1
    assert append(log, producer=(5, 1, 1)).base_offset == 1


def test_v59_producers_survive_a_clean_stop_and_an_unclean_one(tmp_path: Path) -> None:
    """V-59, V-67, S-45: only the newest batch is still known as a duplicate."""
    log = open_log(tmp_path, now_ms=T0)
    for sequence in range(3):
        append(log, producer=(5, 0, sequence))
    log.close()
    for clean in (True, False):
        log = open_log(tmp_path, clean=clean, now_ms=T0)
        assert append(log, producer=(5, 0, 2)).duplicate
        if clean:
            with pytest.raises(errors.OutOfOrderSequenceNumber):
                append(log, producer=(5, 0, 1))
        assert log.log_end_offset == 3


def test_v62_v64_transactions_hold_back_committed_readers(tmp_path: Path) -> None:
    """V-62, V-64, F-13, F-14, S-16."""
    log = open_log(tmp_path)
    append(log)
    append(log, producer=(7, 0, 0), transactional=True)
    append(log, producer=(8, 0, 0), transactional=True)
    append(log)
    assert (log.last_stable_offset, log.high_watermark) == (1, 4)
    read = read_log(log, 0, max_bytes=9999, isolation_level=1)
    assert (len(content(read)), read.aborted_transactions) == (70, [])
    assert read_log(log, 1, max_bytes=9999, isolation_level=1).slice is None
    assert end_transaction(log, 7, commit=False) == 4
    assert log.last_stable_offset == 2
    assert end_transaction(log, 8, commit=True) == 5
    assert log.last_stable_offset == log.high_watermark == 6
    read = read_log(log, 0, max_bytes=9999, isolation_level=1)
    assert read.aborted_transactions == [(7, 1, 4, 2)]
    assert read_log(log, 0, max_bytes=9999).aborted_transactions is None
    # An end without an open transaction is written, but is no aborted transaction.
    end_transaction(log, 7, commit=False)
    assert read_log(log, 5, max_bytes=9999, isolation_level=1).aborted_transactions == []
    with pytest.raises(errors.InvalidProducerEpoch):
        log.append_control(7, -1, EndTransactionMarker(True, 4), now_ms=NOW_MS)
    with pytest.raises(errors.TransactionCoordinatorFenced):
        log.append_control(7, 0, EndTransactionMarker(True, 3), now_ms=NOW_MS)


def test_s16_the_marker_decides_the_segment_of_the_index_entry(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(segment_bytes=80, segment_ms=FOREVER_MS))
    append(log, producer=(7, 0, 0), transactional=True)
    end_transaction(log, 7, commit=False)
    log.close()
    assert (tmp_path / "00000000000000000001.txnindex").stat().st_size == 34
    assert not (tmp_path / f"{STEM}.txnindex").exists()
    read = read_log(open_log(tmp_path), 0, max_bytes=9999, isolation_level=1)
    assert read.aborted_transactions == [(7, 0, 1, 2)]


def test_s53_delete_records(tmp_path: Path) -> None:
    """S-53, F-90, S-65: the start moves, the data stay, the containing batch is given whole."""
    log = open_log(tmp_path)
    woken: list[int] = []
    log.visibility.add_waiter(lambda: woken.append(log.log_start_offset))
    append(log, T0, T0 + 1, T0 + 2)
    assert log.delete_records_before(1) == 1
    assert log.delete_records_before(0) == 1
    assert woken == [0, 1]
    with pytest.raises(errors.OffsetOutOfRange):
        read_log(log, 0, max_bytes=100)
    assert len(content(read_log(log, 1, max_bytes=999))) == log.segments.size_bytes
    for offset in (-2, 4):
        with pytest.raises(errors.OffsetOutOfRange):
            log.delete_records_before(offset)
    assert log.delete_records_before(-1) == 3
    assert (tmp_path / "leader-epoch-checkpoint").read_bytes() == b"0\n1\n0 3\n"
    log.update_config(LogConfig(cleanup_delete=False, cleanup_compact=True))
    with pytest.raises(errors.PolicyViolation):
        log.delete_records_before(3)


def test_s53_without_leader_epochs(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log)
    log.epochs.clear()
    assert log.delete_records_before(1) == 1


def test_an_epoch_that_could_not_be_written_is_written_at_the_end(tmp_path: Path) -> None:
    """S-60."""
    log = open_log(tmp_path)
    obstacle = tmp_path / "leader-epoch-checkpoint.tmp"
    obstacle.mkdir()
    with pytest.raises(errors.KafkaStorageError):
        log.become_leader(4)
    obstacle.rmdir()
    log.close()
    assert (tmp_path / "leader-epoch-checkpoint").read_bytes() == b"0\n1\n4 0\n"


def test_s46_a_first_segment_that_could_not_be_made_is_made_by_the_next_append(
    tmp_path: Path,
) -> None:
    request = LoadRequest("topic", 0, str(tmp_path / "p"), LogConfig(segment_ms=FOREVER_MS))
    log = new_log(request, FileCache(), lambda _: None, now_ms=NOW_MS)
    with pytest.raises(errors.KafkaStorageError):
        append(log)
    assert log.log_end_offset == 0
    (tmp_path / "p").mkdir()
    assert append(log).base_offset == 0
    assert [path.name for path in (tmp_path / "p").glob("*.log")] == [f"{STEM}.log"]
    assert len(content(read_log(log, 0, max_bytes=999))) == len(batch_bytes())


def test_s47_a_snapshot_that_is_not_on_disk_is_told(tmp_path: Path) -> None:
    log = open_log(tmp_path / "p")
    append(log, producer=(5, 0, 0))
    log.close()
    log.flusher.sync_snapshot()
    shutil.rmtree(tmp_path / "p")
    with pytest.raises(errors.KafkaStorageError):
        log.flusher.sync_snapshot()


def test_v64_the_last_stable_offset_is_not_below_the_log_start(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, producer=(7, 0, 0), transactional=True)
    append(log)
    assert log.last_stable_offset == 0
    log.delete_records_before(1)
    assert log.last_stable_offset == 1


def test_waiters_are_called_until_they_are_removed(tmp_path: Path) -> None:
    """F-31."""
    log = open_log(tmp_path)
    calls: list[str] = []

    def first() -> None:
        calls.append("first")
        log.visibility.remove_waiter(first)

    def second() -> None:
        calls.append("second")

    log.visibility.add_waiter(first)
    log.visibility.add_waiter(second)
    append(log)
    log.delete()
    log.visibility.remove_waiter(first)
    assert calls == ["first", "second", "second"]
    with pytest.raises(errors.KafkaStorageError):
        read_log(log, 0, max_bytes=1)
    with pytest.raises(errors.KafkaStorageError):
        append(log)


def test_s02_a_deleted_log_writes_nothing_into_the_directory_of_a_new_topic(tmp_path: Path) -> None:
    """A new topic of the same name may have the directory by now."""
    directory = tmp_path / "topic-0"
    log = open_log(directory)
    append(log, producer=(7, 0, 0), transactional=True)
    log.delete()
    assert log.is_deleted
    directory.rename(tmp_path / "topic-0.set-aside")
    new = open_log(directory)
    append(new)
    before = files(directory)
    log.advance_start(1)
    uses: list[Callable[[], object]] = [
        lambda: append(log, producer=(7, 0, 1), transactional=True),
        lambda: end_transaction(log, 7, commit=False),
        lambda: log.roll(NOW_MS),
        lambda: log.become_leader(9),
        lambda: log.delete_records_before(1),
        lambda: log.flush(),
        log.close,
    ]
    for use in uses:
        with pytest.raises(errors.KafkaStorageError):
            use()
    assert files(directory) == before
    assert log.flusher.offline_reason is None


def test_append_batch_stamps_what_the_node_made(tmp_path: Path) -> None:
    """V-80: no sequence check for coordinators and replicas, the epoch counts for coordinators."""
    log = open_log(tmp_path)
    data = bytearray(batch_bytes(producer=(5, 1, 3)))
    log.append_batch(data, now_ms=NOW_MS)
    assert log.append_batch(bytes(data), now_ms=NOW_MS).base_offset == 1
    assert content(read_log(log, 0, max_bytes=999))[:16] == bytes(11) + b"\x3a" + bytes(4)
    with pytest.raises(errors.InvalidProducerEpoch):
        log.append_batch(batch_bytes(producer=(5, 0, 4)), now_ms=NOW_MS, origin=COORDINATOR)


def test_s32_flush_messages(tmp_path: Path) -> None:
    """S-32, S-33: the recovery point follows as soon as so many records are not on disk."""
    log = open_log(tmp_path, LogConfig(flush_messages=3, segment_bytes=150))
    points = []
    for _ in range(4):
        append(log)
        points.append(log.flusher.recovery_point)
    assert points == [0, 0, 3, 3]
    log.flush(log.segments.active.base_offset)
    assert log.flusher.recovery_point == 3
    log.flush()
    assert log.flusher.recovery_point == 4


def test_s32_v62_markers_count_as_messages(tmp_path: Path) -> None:
    """What an end of a transaction was acknowledged for must not be lost with the power."""
    log = open_log(tmp_path, LogConfig(flush_messages=2))
    append(log)
    assert log.flusher.recovery_point == 0
    end_transaction(log, 7, commit=True)
    assert log.flusher.recovery_point == 2


def test_s32_a_log_that_is_offline_takes_no_batch(tmp_path: Path, disk: Disk) -> None:
    """Also after the disk works again: nobody knows what of the log is on it."""
    log = open_log(tmp_path)
    append(log)
    disk.refuse("fsync", "fdatasync")
    with pytest.raises(errors.KafkaStorageError):
        log.flush()
    disk.mend()
    before = files(tmp_path)
    with pytest.raises(errors.KafkaStorageError):
        append(log)
    assert (log.log_end_offset, files(tmp_path)) == (1, before)
