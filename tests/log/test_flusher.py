"""What of a log is on disk, and what an error of fsync does."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.visibility import Visibility
from tests.log.held import Outcome, held_log
from tests.log.logs import (
    NOW_MS,
    append,
    end_transaction,
    in_the_way,
    open_log,
    put_back,
)
from tests.support.disk import Disk


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_s32_an_error_of_fsync_is_final(tmp_path: Path, disk: Disk, number: int) -> None:
    log, flushes = held_log(tmp_path)
    offline: list[Visibility] = []
    flushes.commits.went_offline = offline.append
    told: list[Outcome] = []
    append(log)
    log.visibility.when_flushed(told.append)
    disk.refuse("fdatasync", number=number)
    with pytest.raises(errors.KafkaStorageError) as caught:
        log.flusher.flush_records(1)
    log.visibility.flush_ended(1, caught.value)
    disk.mend()
    assert (offline, told, flushes.commits.failures) == ([log.visibility], [caught.value], 1)
    uses: list[Callable[[], object]] = [
        lambda: append(log),
        lambda: log.flusher.flush_records(1),
        lambda: log.delete_records_before(0),
        lambda: log.roll(NOW_MS),
        log.close,
    ]
    for use in uses:
        with pytest.raises(errors.KafkaStorageError):
            use()
    log.visibility.when_flushed(told.append)
    assert told[-1] is not None
    assert (log.high_watermark, log.flusher.recovery_point) == (0, 0)


def test_s32_v62_a_log_that_is_offline_takes_no_marker(tmp_path: Path, disk: Disk) -> None:
    log, flushes = held_log(tmp_path)
    append(log, producer=(5, 0, 0), transactional=True)
    log.flush()
    flushes.commits.start = None
    disk.refuse("fsync")
    with pytest.raises(errors.KafkaStorageError):
        append(log)
    disk.mend()
    end = log.log_end_offset
    with pytest.raises(errors.KafkaStorageError):
        end_transaction(log, 5, commit=True)
    assert log.log_end_offset == end


def test_s32_a_flush_beside_the_one_that_failed_counts_as_failed(
    tmp_path: Path, disk: Disk
) -> None:
    """The kernel tells an error of writing once, and both flushes were to write the same pages."""
    log, _ = held_log(tmp_path)
    told: list[Outcome] = []
    append(log)
    log.visibility.when_flushed(told.append)
    log.flusher.flush_records(1)
    disk.refuse("fsync")
    with pytest.raises(errors.KafkaStorageError):
        log.flush()
    assert not log.visibility.flush_ended(1, None)
    assert isinstance(told[0], errors.KafkaStorageError)
    assert log.high_watermark == 0


def test_s32_two_flushes_at_once_both_wait_for_the_leader_epochs(
    tmp_path: Path, disk: Disk
) -> None:
    """Below the recovery point nothing but their file tells them."""
    log, _ = held_log(tmp_path)
    append(log)
    synced: list[str] = []
    fsync = os.fsync

    def note(fd: int) -> None:
        name = os.path.basename(os.readlink(f"/proc/self/fd/{fd}"))
        synced.append(name)
        if len(synced) == 1:
            log.flusher.flush_records(1)
        fsync(fd)

    disk.answer("fsync", note)
    log.flush()
    assert synced.count("leader-epoch-checkpoint") == 2
    append(log)
    log.flush()
    assert synced.count("leader-epoch-checkpoint") == 2


def test_s32_what_is_no_error_of_fsync_may_be_tried_again(tmp_path: Path) -> None:
    log, flushes = held_log(tmp_path)
    append(log)
    away = tmp_path / "away"
    in_the_way(Path(log.segments.active.path), away)
    with pytest.raises(errors.KafkaStorageError) as caught:
        log.flusher.flush_records(1)
    log.visibility.flush_ended(1, caught.value)
    assert (log.flusher.offline_reason, log.high_watermark) == (None, 0)
    told: list[Outcome] = []
    log.visibility.when_flushed(told.append)
    assert isinstance(told[0], errors.KafkaStorageError)  # it came too late to be told then
    put_back(Path(log.segments.active.path), away)
    append(log)
    assert flushes.asked == [log.visibility, log.visibility]
    log.flusher.flush_records(2)
    log.visibility.flush_ended(2, None)
    assert log.high_watermark == 2


def test_s32_a_flush_for_an_acknowledgement_is_of_one_file(tmp_path: Path, disk: Disk) -> None:
    """The indexes of the active segment follow with the next full flush, of a clean stop say."""
    log, _ = held_log(tmp_path)
    append(log)
    log.flusher.flush_records(1)
    synced: list[str] = []
    for name in ("fsync", "fdatasync"):
        disk.before(name, lambda path: synced.append(os.path.basename(path)))
    append(log)
    log.flusher.flush_records(2)
    assert synced == [os.path.basename(log.segments.active.path)]
    assert not log.flusher.is_durable(log.log_end_offset)
    log.flush()
    assert log.flusher.is_durable(log.log_end_offset)
    assert {name[20:] for name in synced[1:]} == {".log", ".index", ".timeindex"}


def test_s47_what_sync_could_not_write_is_found_out(tmp_path: Path, disk: Disk) -> None:
    log = open_log(tmp_path)
    append(log)
    log.roll(NOW_MS)
    log.flusher.confirm_durable()
    disk.refuse("fdatasync")
    with pytest.raises(errors.KafkaStorageError):
        log.flusher.confirm_durable()
    assert log.flusher.offline_reason is not None


def test_s32_a_log_that_is_deleted_meanwhile_is_not_offline(tmp_path: Path, disk: Disk) -> None:
    log, flushes = held_log(tmp_path)
    told: list[Outcome] = []
    append(log)
    log.visibility.when_flushed(told.append)

    def delete_and_fail(_: int) -> None:
        log.delete()
        raise OSError(errno.EIO, "the disk is gone")

    disk.answer("fsync", delete_and_fail)
    with pytest.raises(errors.KafkaStorageError) as caught:
        log.flush()
    log.visibility.flush_ended(1, caught.value)
    assert (told, log.flusher.offline_reason) == ([caught.value], None)
    assert not flushes.commits.held


def test_s32_the_indexes_of_a_rolled_segment_follow(tmp_path: Path, disk: Disk) -> None:
    """S-33: the recovery point is in the next segment, so nobody would make them anew."""
    log, _ = held_log(tmp_path)
    append(log)
    log.flusher.flush_records(1)
    log.visibility.flush_ended(1, None)
    log.roll(NOW_MS)
    synced: list[str] = []
    fsync = os.fsync

    def note(fd: int) -> None:
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{fd}")))
        fsync(fd)

    disk.answer("fsync", note)
    log.flush(1)  # as the checkpoint does, up to the active segment's base
    assert {name[20:] for name in synced} >= {".log", ".index", ".timeindex"}
    synced.clear()
    log.flush(1)
    assert synced == []
    append(log)
    log.flusher.flush_records(2)
    log.roll(NOW_MS)
    append(log)
    log.flusher.flush_records(3)
    assert f"{1:020d}.index" in synced


def test_s54_a_segment_that_is_removed_meanwhile_needs_no_flush(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log)
    first = log.roll(NOW_MS)
    append(log)
    removed = log.segments.all[0]
    os.unlink(removed.path)
    log.segments.all = Vanishing(log.segments.all, removed)
    log.flush()
    assert (first is log.segments.active, log.flusher.recovery_point) == (True, 2)


class Vanishing(list):  # type: ignore[type-arg]
    """A list of segments of which one has gone by the time somebody looks for it."""

    def __init__(self, segments: list[object], gone: object) -> None:
        super().__init__(segments)
        self.gone = gone

    def __contains__(self, segment: object) -> bool:
        return segment is not self.gone
