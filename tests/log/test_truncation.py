"""C-52: a log is cut, and what is left is what a log has that never had more."""

import os
from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.config import LogConfig
from broker_lite.log.directory.manager import LogManager
from broker_lite.log.log import Log
from broker_lite.log.read import READ_COMMITTED, read_log
from broker_lite.log.truncation import size_below
from tests.log.directory.test_manager import ID, opened, started
from tests.log.directory.test_manager_partitions import killed_and_opened
from tests.log.logs import (
    FOREVER_MS,
    NOW_MS,
    T0,
    append,
    batches_of,
    content,
    end_transaction,
    files,
    segment_bases,
)
from tests.support.disk import Disk


def manager_of(directory: Path) -> LogManager:
    manager = started(directory, 0)
    manager.update_config("t", 1, LogConfig(segment_ms=FOREVER_MS))
    return manager


def fill(log: Log, segments: int = 3, batches: int = 3, records: int = 2) -> None:
    """Several segments; each batch has records."""
    for number in range(segments):
        if number:
            log.roll(NOW_MS)
        for _ in range(batches):
            append(log, *[T0] * records)


def offsets(log: Log, isolation_level: int = 0) -> list[int]:
    """The base offsets of the batches that a reader gets."""
    found: list[int] = []
    offset = log.log_start_offset
    while True:
        read = read_log(log, offset, max_bytes=9_999_999, isolation_level=isolation_level)
        data = content(read)
        if not data:
            return found
        for batch in batches_of(data):
            found.append(int.from_bytes(batch[:8], "big"))
            offset = found[-1] + int.from_bytes(batch[23:27], "big") + 1


@pytest.mark.parametrize(
    ("offset", "end", "bases"),
    [
        pytest.param(18, 18, [0, 6, 12], id="at-the-end"),
        pytest.param(99, 18, [0, 6, 12], id="behind-the-end"),
        pytest.param(17, 16, [0, 6, 12], id="inside-the-last-batch"),
        pytest.param(16, 16, [0, 6, 12], id="at-a-batch"),
        pytest.param(12, 12, [0, 6, 12], id="at-the-border-of-a-segment"),
        pytest.param(11, 10, [0, 6], id="inside-a-batch-of-an-old-segment"),
        pytest.param(6, 6, [0, 6], id="at-the-border-of-an-old-segment"),
        pytest.param(1, 0, [0], id="inside-the-first-batch"),
        pytest.param(0, 0, [0], id="all"),
        pytest.param(-5, 0, [0], id="below-the-start"),
    ],
)
@pytest.mark.parametrize("restart", ["none", "clean", "killed"])
def test_c52_where_a_log_is_cut(
    tmp_path: Path, offset: int, end: int, bases: list[int], restart: str
) -> None:
    manager = manager_of(tmp_path)
    log = manager.get("t", 0)
    fill(log)
    size_bytes = size_below(log, offset)
    assert manager.truncate("t", 0, offset) == 18 - end
    assert segment_bases(tmp_path / "t-0") == bases
    assert sum(path.stat().st_size for path in (tmp_path / "t-0").glob("*.log")) == size_bytes
    if restart == "clean":
        manager.close()
        manager = manager_of(tmp_path)
    elif restart == "killed":
        manager = killed_and_opened(manager)
        manager.create("t", 0, ID, LogConfig(segment_ms=FOREVER_MS))
        manager.recover()
    cut = manager.get("t", 0)
    assert (cut is log) is (end == 18 and restart == "none")
    assert (cut.log_end_offset, cut.high_watermark) == (end, end)
    assert offsets(cut) == [*range(0, end, 2)]
    assert append(cut, T0, T0).base_offset == end
    assert offsets(cut) == [*range(0, end + 2, 2)]
    manager.close()
    again = manager_of(tmp_path)
    assert offsets(again.get("t", 0)) == [*range(0, end + 2, 2)]
    again.close()


def test_c52_what_is_read_anew_is_what_was_never_more(tmp_path: Path) -> None:
    """S-18, S-20, S-45, S-61: the files after the cut are those of a log without the rest."""
    cut, plain = manager_of(tmp_path / "cut"), manager_of(tmp_path / "plain")
    for manager in (cut, plain):
        log = manager.get("t", 0)
        append(log, T0, producer=(1, 0, 0))
        log.roll(NOW_MS)
        append(log, T0, producer=(2, 0, 0), transactional=True)
        end_transaction(log, 2, commit=False)
        append(log, T0, producer=(1, 0, 1))
    more = cut.get("t", 0)
    append(more, T0, producer=(3, 0, 0), transactional=True)
    end_transaction(more, 3, commit=False)
    more.roll(NOW_MS)
    append(more, T0, producer=(1, 0, 2))
    assert cut.truncate("t", 0, 4) == 3
    for manager in (cut, plain):
        log = manager.get("t", 0)
        assert append(log, T0, producer=(1, 0, 2)).base_offset == 4
        manager.close()
    (tmp_path / "cut" / "t-0" / f"{4:020d}.snapshot").unlink()  # recovery ends with one
    assert files(tmp_path / "cut" / "t-0") == files(tmp_path / "plain" / "t-0")


def test_c52_producers_forget_what_was_cut(tmp_path: Path) -> None:
    manager = manager_of(tmp_path)
    log = manager.get("t", 0)
    append(log, T0, producer=(1, 0, 0))
    append(log, T0, producer=(1, 0, 1))
    append(log, T0, producer=(2, 0, 0))
    append(log, T0, producer=(3, 1, 0))
    manager.truncate("t", 0, 1)
    log = manager.get("t", 0)
    assert append(log, T0, producer=(1, 0, 1)).duplicate is False
    assert append(log, T0, producer=(1, 0, 0)).duplicate is True
    assert append(log, T0, producer=(2, 0, 0)).duplicate is False
    assert append(log, T0, producer=(3, 0, 0)).duplicate is False  # epoch 1 was cut, too
    manager.close()


@pytest.mark.parametrize(("offset", "stable", "aborted"), [(2, 1, 0), (3, 3, 1), (1, 1, 0)])
def test_c52_transactions_of_which_the_end_was_cut_are_open(
    tmp_path: Path, offset: int, stable: int, aborted: int
) -> None:
    manager = manager_of(tmp_path)
    log = manager.get("t", 0)
    append(log)
    append(log, T0, producer=(7, 0, 0), transactional=True)
    end_transaction(log, 7, commit=False)
    append(log)
    manager.truncate("t", 0, offset)
    log = manager.get("t", 0)
    assert log.last_stable_offset == stable
    append(log)
    read = read_log(log, 0, max_bytes=9999, isolation_level=READ_COMMITTED)
    assert len(read.aborted_transactions or ()) == aborted
    assert log.last_stable_offset == (stable if offset == 2 else log.log_end_offset)
    manager.close()


def test_c52_leader_epochs_end_with_the_log(tmp_path: Path) -> None:
    manager = manager_of(tmp_path)
    log = manager.get("t", 0)
    append(log)
    manager.become_leader("t", 0, 3)
    append(log)
    append(log)
    manager.become_leader("t", 0, 5)  # the election that cuts it
    manager.truncate("t", 0, 1)
    log = manager.get("t", 0)
    assert log.leader_epoch == 5
    assert log.epochs.end_offset_for(0, 1) == (0, 1)
    assert log.epochs.end_offset_for(3, 1) == (0, 1)  # 3 has no record any more
    append(log)
    assert log.epochs.end_offset_for(5, 2) == (5, 2)
    manager.close()
    again = manager_of(tmp_path).get("t", 0)
    assert again.epochs.end_offset_for(3, 2) == (0, 1)


def test_c52_an_empty_log_and_one_that_is_not_there(tmp_path: Path) -> None:
    manager = manager_of(tmp_path)
    log = manager.get("t", 0)
    assert (manager.truncate("t", 0, 0), manager.truncate("t", 0, 5)) == (0, 0)
    assert manager.get("t", 0) is log
    assert append(log).base_offset == 0
    with pytest.raises(errors.UnknownTopicOrPartition):
        manager.truncate("t", 9, 0)
    manager.close()


@pytest.mark.parametrize("start", [3, 4, 13])
@pytest.mark.parametrize("has_checkpoint", [False, True])
def test_c52_the_log_start_offset_stays(tmp_path: Path, start: int, has_checkpoint: bool) -> None:
    """S-52, S-53: also one inside a batch, and one that no checkpoint has yet."""
    manager = manager_of(tmp_path)
    log = manager.get("t", 0)
    fill(log)
    log.delete_records_before(start)
    if has_checkpoint:
        manager.checkpoint()
    manager.truncate("t", 0, 1)
    log = manager.get("t", 0)
    assert (log.log_start_offset, log.log_end_offset) == (start, start)
    assert (offsets(log), append(log).base_offset, offsets(log)) == ([], start, [start])
    manager.close()
    log = manager_of(tmp_path).get("t", 0)
    assert (log.log_start_offset, offsets(log)) == (start, [start])


def test_c52_a_start_offset_in_front_of_the_cut(tmp_path: Path) -> None:
    manager = manager_of(tmp_path)
    fill(manager.get("t", 0))
    manager.get("t", 0).delete_records_before(8)
    assert manager.truncate("t", 0, 14) == 4
    log = manager.get("t", 0)
    assert (log.log_start_offset, log.log_end_offset, offsets(log)) == (8, 14, [8, 10, 12])


class Crash(Exception):
    """The process ends here."""


@pytest.mark.parametrize("step", range(1, 37))
def test_c52_a_crash_between_the_steps(tmp_path: Path, disk: Disk, step: int) -> None:
    """S-44: whatever is left is a log with whole batches, correct indexes and no gap."""
    manager = manager_of(tmp_path)
    log = manager.get("t", 0)
    for number in range(6):
        append(log, T0, T0, producer=(1, 0, 2 * number))
        log.roll(NOW_MS)
    append(log, T0, producer=(9, 0, 0), transactional=True)
    end_transaction(log, 9, commit=False)
    manager.checkpoint()
    log.flush()
    manager.checkpoint()
    done = 0

    def count(_: str) -> None:
        nonlocal done
        done += 1
        if done >= step:
            raise Crash

    with disk.changed():
        for call in ("unlink", "truncate", "fsync", "fdatasync"):
            disk.before(call, count)
        with pytest.raises(Crash):
            manager.truncate("t", 0, 5)
    manager = killed_and_opened(manager)
    manager.create("t", 0, ID, LogConfig(segment_ms=FOREVER_MS))
    manager.recover()
    cut = manager.get("t", 0)
    end = cut.log_end_offset
    assert 4 <= end <= 14
    assert offsets(cut) == [base for base in [0, 2, 4, 6, 8, 10, 12, 13] if base < end]
    if end == 14:
        read = read_log(cut, 12, max_bytes=9999, isolation_level=READ_COMMITTED)
        assert len(read.aborted_transactions or ()) == 1
    if end <= 12:
        assert append(cut, T0, T0, producer=(1, 0, end)).base_offset == end
    manager.close()


def test_c52_what_is_appended_after_a_cut_is_recovered(tmp_path: Path) -> None:
    """S-33, S-44: the checkpoint of before does not say that the new records are on disk."""
    manager = manager_of(tmp_path)
    log = manager.get("t", 0)
    fill(log)
    log.flush()
    log.roll(NOW_MS)
    manager.checkpoint()
    manager.truncate("t", 0, 4)
    log = manager.get("t", 0)
    append(log, T0, T0)
    append(log, T0, T0)
    path = tmp_path / "t-0" / f"{0:020d}.log"
    os.truncate(path, path.stat().st_size - 7)  # the power fails, and the last batch is torn
    manager = killed_and_opened(manager)
    manager.create("t", 0, ID, LogConfig(segment_ms=FOREVER_MS))
    manager.recover()
    log = manager.get("t", 0)
    assert (log.log_end_offset, offsets(log)) == (6, [0, 2, 4])
    manager.close()


def test_c52_a_disk_that_fails_leaves_a_log_that_can_be_used(tmp_path: Path, disk: Disk) -> None:
    manager = manager_of(tmp_path)
    log = manager.get("t", 0)
    fill(log)
    woken: list[bool] = []
    log.visibility.add_waiter(lambda: woken.append(log.is_deleted))

    with disk.changed():
        disk.refuse("truncate")
        with pytest.raises(errors.KafkaStorageError):
            manager.truncate("t", 0, 8)
    assert woken == [True]
    again = manager.get("t", 0)
    assert again is not log
    assert (again.log_end_offset, offsets(again)) == (12, [0, 2, 4, 6, 8, 10])
    assert manager.truncate("t", 0, 8) == 4
    assert offsets(manager.get("t", 0)) == [0, 2, 4, 6]
    manager.close()


def test_c52_a_damaged_segment_is_not_cut(tmp_path: Path) -> None:
    manager = manager_of(tmp_path)
    log = manager.get("t", 0)
    append(log)
    append(log)
    path = tmp_path / "t-0" / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[8:12] = b"\0\0\0\1"
    path.write_bytes(data)
    with pytest.raises(errors.KafkaStorageError):
        manager.truncate("t", 0, 1)
    manager.close()


def test_c52_who_has_the_old_log_cannot_use_it(tmp_path: Path) -> None:
    manager = manager_of(tmp_path)
    old = manager.get("t", 0)
    append(old)
    append(old)
    read = read_log(old, 0, max_bytes=9999)  # is being sent
    changed: list[int] = []
    old.visibility.add_waiter(lambda: changed.append(1))
    manager.truncate("t", 0, 1)
    assert (changed, old.is_deleted) == ([1], True)
    assert len(batches_of(content(read))) == 1  # the rest of the range is not there any more
    with pytest.raises(errors.KafkaStorageError):
        append(old)
    with pytest.raises(errors.KafkaStorageError):
        read_log(old, 0, max_bytes=9999)
    with pytest.raises(errors.KafkaStorageError):
        old.roll(NOW_MS)
    assert offsets(manager.get("t", 0)) == [0]
    manager.close()


def test_c52_a_flush_that_is_under_way_ends_in_an_error(tmp_path: Path) -> None:
    """S-32: the callers that wait for the disk are told, and the new log stays online."""
    manager = manager_of(tmp_path)
    started_flushes: list[object] = []
    manager.commits.start = started_flushes.append
    manager.update_config("t", 1, LogConfig(segment_ms=FOREVER_MS, flush_messages=1))
    log = manager.get("t", 0)
    append(log)
    told: list[object] = []
    log.visibility.when_flushed(told.append)
    manager.truncate("t", 0, 0)
    with pytest.raises(errors.KafkaStorageError):
        log.flusher.flush_records(1)
    log.visibility.flush_ended(1, errors.KafkaStorageError())
    assert [type(each) for each in told] == [errors.KafkaStorageError]
    assert (len(manager.commits.held), ("t", 0) in manager.offline) == (0, False)
    assert append(manager.get("t", 0)).base_offset == 0
    manager.commits.start = None
    manager.close()


def test_c52_several_cuts(tmp_path: Path) -> None:
    manager = manager_of(tmp_path)
    fill(manager.get("t", 0))
    for offset in (15, 14, 9, 8, 7, 2, 0, 0):
        manager.truncate("t", 0, offset)
        log = manager.get("t", 0)
        assert log.log_end_offset == offset - offset % 2
        assert offsets(log) == [*range(0, log.log_end_offset, 2)]
    fill(manager.get("t", 0), segments=1)
    assert offsets(manager.get("t", 0)) == [0, 2, 4]
    manager.close()
    assert opened(tmp_path).was_clean


def test_p141_a_log_without_a_file_has_no_bytes(tmp_path: Path) -> None:
    manager = manager_of(tmp_path)
    log = manager.get("t", 0)
    assert not [*(tmp_path / "t-0").glob("*.log")]
    assert size_below(log, 0) == 0
    manager.close()
