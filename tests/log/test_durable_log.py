"""What is on disk, what readers may see meanwhile, and what an error of fsync does.

Also tests: broker_lite.log.commits.
"""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.commits import Commits
from broker_lite.log.config import LogConfig
from broker_lite.log.durable_log import DurableLog
from broker_lite.log.log import Log
from broker_lite.record.control import EndTransactionMarker
from tests.log.logs import (
    FOREVER_MS,
    NOW_MS,
    append,
    content,
    end_transaction,
    in_the_way,
    open_log,
    put_back,
)
from tests.support.disk import Disk

Outcome = errors.KafkaStorageError | None


class Flusher:
    """Who flushes in the background, when the test says so."""

    def __init__(self) -> None:
        self.commits = Commits()
        self.commits.start = self.started
        self.asked: list[DurableLog] = []

    def started(self, log: DurableLog) -> None:
        self.asked.append(log)


def held_log(directory: Path, flush_messages: int = 1) -> tuple[Log, Flusher]:
    config = LogConfig(flush_messages=flush_messages, segment_ms=FOREVER_MS)
    log, flusher = open_log(directory, config), Flusher()
    log.commits = flusher.commits
    return log, flusher


def test_s32_a_record_is_seen_when_it_is_on_disk(tmp_path: Path) -> None:
    log, flusher = held_log(tmp_path)
    woken: list[int] = []
    log.add_waiter(lambda: woken.append(log.high_watermark))
    told: list[Outcome] = []
    append(log)
    log.when_flushed(told.append)
    assert (log.log_end_offset, log.high_watermark, log.last_stable_offset) == (1, 0, 0)
    assert content(log.read(0, max_bytes=1000)) == b""
    assert (flusher.asked, woken, told) == ([log], [], [])
    log.flush_records(1)
    assert not log.flush_ended(1, None)
    assert (log.high_watermark, log.recovery_point, woken, told) == (1, 1, [1], [None])
    assert content(log.read(0, max_bytes=1000))
    assert not flusher.commits.held


def test_s32_who_comes_meanwhile_shares_the_next_flush(tmp_path: Path) -> None:
    log, _ = held_log(tmp_path)
    told: list[Outcome] = []
    append(log)
    for _ in range(3):
        append(log)
        log.when_flushed(told.append)
    log.flush_records(1)
    assert log.flush_ended(1, None)  # more is held back
    assert (log.high_watermark, told) == (1, [])
    log.flush_records(4)
    assert not log.flush_ended(4, None)
    assert (log.high_watermark, told) == (4, [None, None, None])


def test_s32_unflushed_messages_are_counted_from_the_last_flush(tmp_path: Path) -> None:
    log, flusher = held_log(tmp_path, flush_messages=3)
    seen = []
    for _ in range(2):
        append(log)
        seen.append(log.high_watermark)
    append(log)
    assert (seen, log.high_watermark, len(flusher.asked)) == ([1, 2], 2, 1)
    append(log)  # of itself not due, but not to be seen before the one in front of it
    assert (log.high_watermark, len(flusher.asked)) == (2, 1)
    log.flush_records(3)
    assert not log.flush_ended(3, None)
    assert log.high_watermark == 4
    append(log)
    assert log.high_watermark == 5
    append(log)
    assert (log.high_watermark, len(flusher.asked)) == (5, 2)


def test_s32_new_settings_count_from_the_next_append_on(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log)
    log.update_config(LogConfig(flush_messages=2, segment_ms=FOREVER_MS))
    assert log.recovery_point == 0
    append(log)
    assert log.recovery_point == 2
    log.update_config(LogConfig(segment_ms=FOREVER_MS))
    append(log)
    assert (log.recovery_point, log.high_watermark) == (2, 3)


def test_s32_a_marker_ends_its_transaction_when_it_is_on_disk(tmp_path: Path) -> None:
    """V-64: the last stable offset follows the high watermark."""
    log, _ = held_log(tmp_path, flush_messages=2)
    append(log, producer=(7, 0, 0), transactional=True)
    log.append_control(7, 0, EndTransactionMarker(True, 0), now_ms=NOW_MS)
    assert (log.log_end_offset, log.high_watermark, log.last_stable_offset) == (2, 1, 0)
    log.flush_records(2)
    log.flush_ended(2, None)
    assert (log.high_watermark, log.last_stable_offset) == (2, 2)


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_s32_an_error_of_fsync_is_final(tmp_path: Path, disk: Disk, number: int) -> None:
    log, flusher = held_log(tmp_path)
    offline: list[DurableLog] = []
    flusher.commits.went_offline = offline.append
    told: list[Outcome] = []
    append(log)
    log.when_flushed(told.append)
    disk.refuse("fdatasync", number=number)
    with pytest.raises(errors.KafkaStorageError) as caught:
        log.flush_records(1)
    log.flush_ended(1, caught.value)
    disk.mend()
    assert (offline, told, flusher.commits.failures) == ([log], [caught.value], 1)
    uses: list[Callable[[], object]] = [
        lambda: append(log),
        lambda: log.flush_records(1),
        lambda: log.delete_records_before(0),
        lambda: log.roll(NOW_MS),
        log.close,
    ]
    for use in uses:
        with pytest.raises(errors.KafkaStorageError):
            use()
    log.when_flushed(told.append)
    assert told[-1] is not None
    assert (log.high_watermark, log.recovery_point) == (0, 0)


def test_s32_without_anybody_who_flushes_the_append_does(tmp_path: Path, disk: Disk) -> None:
    log, flusher = held_log(tmp_path)
    flusher.commits.start = None
    append(log)
    assert (log.recovery_point, log.high_watermark) == (1, 1)
    disk.refuse("fsync")
    with pytest.raises(errors.KafkaStorageError):
        append(log)
    assert (log.high_watermark, log.offline_reason is None) == (1, False)


def test_s32_v62_a_log_that_is_offline_takes_no_marker(tmp_path: Path, disk: Disk) -> None:
    log, flusher = held_log(tmp_path)
    append(log, producer=(5, 0, 0), transactional=True)
    log.flush()
    flusher.commits.start = None
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
    log.when_flushed(told.append)
    log.flush_records(1)
    disk.refuse("fsync")
    with pytest.raises(errors.KafkaStorageError):
        log.flush()
    assert not log.flush_ended(1, None)
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
            log.flush_records(1)
        fsync(fd)

    disk.answer("fsync", note)
    log.flush()
    assert synced.count("leader-epoch-checkpoint") == 2
    append(log)
    log.flush()
    assert synced.count("leader-epoch-checkpoint") == 2


def test_s32_what_is_no_error_of_fsync_may_be_tried_again(tmp_path: Path) -> None:
    log, flusher = held_log(tmp_path)
    append(log)
    away = tmp_path / "away"
    in_the_way(Path(log.active.path), away)
    with pytest.raises(errors.KafkaStorageError) as caught:
        log.flush_records(1)
    log.flush_ended(1, caught.value)
    assert (log.offline_reason, log.high_watermark) == (None, 0)
    told: list[Outcome] = []
    log.when_flushed(told.append)
    assert isinstance(told[0], errors.KafkaStorageError)  # it came too late to be told then
    put_back(Path(log.active.path), away)
    append(log)
    assert flusher.asked == [log, log]
    log.flush_records(2)
    log.flush_ended(2, None)
    assert log.high_watermark == 2


@pytest.mark.parametrize("is_served", [True, False], ids=["served", "flushed-by-the-append"])
def test_s32_a_duplicate_of_what_could_not_be_flushed_is_flushed(
    tmp_path: Path, is_served: bool
) -> None:
    """V-58: the producer sends the batch again, and is told that it is there when it is."""
    log, flusher = held_log(tmp_path)
    append(log, producer=(7, 0, 0))
    log.flush_records(1)
    log.flush_ended(1, None)
    if not is_served:
        flusher.commits.start = None
    away = tmp_path / "away"
    path = Path(log.active.path)
    in_the_way(path, away)
    if is_served:
        append(log, producer=(7, 0, 1))
        log.flush_ended(2, errors.KafkaStorageError())
    else:
        with pytest.raises(errors.KafkaStorageError):
            append(log, producer=(7, 0, 1))
    put_back(path, away)
    flusher.asked.clear()
    assert append(log, producer=(7, 0, 0)).duplicate
    assert log.high_watermark == 1  # that one was on disk
    assert append(log, producer=(7, 0, 1)).duplicate
    if is_served:
        assert (flusher.asked, log in flusher.commits.held) == ([log], True)
        log.flush_records(2)
        log.flush_ended(2, None)
    assert (log.high_watermark, log.recovery_point) == (2, 2)


def test_s32_a_flush_for_an_acknowledgement_is_of_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The indexes of the active segment follow with the next full flush, of a clean stop say."""
    log, _ = held_log(tmp_path)
    append(log)
    log.flush_records(1)
    synced: list[str] = []
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(
            os, name, lambda fd: synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{fd}")))
        )
    append(log)
    log.flush_records(2)
    assert synced == [os.path.basename(log.active.path)]
    assert not log.is_durable
    log.flush()
    assert log.is_durable
    assert {name[20:] for name in synced[1:]} == {".log", ".index", ".timeindex"}


def test_s47_what_sync_could_not_write_is_found_out(tmp_path: Path, disk: Disk) -> None:
    log = open_log(tmp_path)
    append(log)
    log.roll(NOW_MS)
    log.confirm_durable()
    disk.refuse("fdatasync")
    with pytest.raises(errors.KafkaStorageError):
        log.confirm_durable()
    assert log.offline_reason is not None


def test_s32_a_log_that_is_deleted_meanwhile_is_not_offline(tmp_path: Path, disk: Disk) -> None:
    log, flusher = held_log(tmp_path)
    told: list[Outcome] = []
    append(log)
    log.when_flushed(told.append)

    def delete_and_fail(_: int) -> None:
        log.delete()
        raise OSError(errno.EIO, "the disk is gone")

    disk.answer("fsync", delete_and_fail)
    with pytest.raises(errors.KafkaStorageError) as caught:
        log.flush()
    log.flush_ended(1, caught.value)
    assert (told, log.offline_reason) == ([caught.value], None)
    assert not flusher.commits.held


def test_s32_who_has_nothing_to_wait_for_goes_on(tmp_path: Path) -> None:
    log, flusher = held_log(tmp_path)
    told: list[Outcome] = []
    log.when_flushed(told.append)
    woken: list[None] = []

    def waiter() -> None:
        woken.append(None)

    log.add_waiter(waiter)
    log.remove_waiter(waiter)
    log.remove_waiter(waiter)
    flusher.commits.start = None
    append(log)
    assert (told, woken) == ([None], [])


def test_s32_the_indexes_of_a_rolled_segment_follow(tmp_path: Path, disk: Disk) -> None:
    """S-33: the recovery point is in the next segment, so nobody would make them anew."""
    log, _ = held_log(tmp_path)
    append(log)
    log.flush_records(1)
    log.flush_ended(1, None)
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
    log.flush_records(2)
    log.roll(NOW_MS)
    append(log)
    log.flush_records(3)
    assert f"{1:020d}.index" in synced


def test_s54_a_segment_that_is_removed_meanwhile_needs_no_flush(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log)
    first = log.roll(NOW_MS)
    append(log)
    removed = log.segments[0]
    os.unlink(removed.path)
    log.segments = Vanishing(log.segments, removed)
    log.flush()
    assert (first is log.active, log.recovery_point) == (True, 2)


class Vanishing(list):  # type: ignore[type-arg]
    """A list of segments of which one has gone by the time somebody looks for it."""

    def __init__(self, segments: list[object], gone: object) -> None:
        super().__init__(segments)
        self.gone = gone

    def __contains__(self, segment: object) -> bool:
        return segment is not self.gone
