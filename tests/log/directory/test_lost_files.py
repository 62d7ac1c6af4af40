"""S-32: somebody deletes, moves or replaces a file under the running broker."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from broker_lite import errors
from tests.log.directory.test_offline import with_partitions
from tests.log.logs import NOW_MS, append, open_log
from tests.support.disk import Disk


def deleted(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    path.with_suffix(".copy").write_bytes(path.read_bytes())
    path.with_suffix(".copy").replace(path)


def moved(path: Path) -> None:
    path.rename(path.with_suffix(".elsewhere"))


LOST_WAYS = pytest.mark.parametrize("lose", [deleted, replaced, moved])


@LOST_WAYS
@pytest.mark.parametrize("is_rolled", [False, True])
def test_s32_a_file_that_somebody_took_away_is_noticed(
    tmp_path: Path,
    lose: Callable[[Path], None],
    is_rolled: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What was acknowledged would be gone at the next start: no more of that."""
    log = open_log(tmp_path)
    append(log)
    path = Path(log.segments.active.path)
    if is_rolled:
        log.roll(NOW_MS)
        append(log)
        path.unlink()
    else:
        lose(path)
    with pytest.raises(errors.KafkaStorageError):
        log.flush(
            log.segments.active.base_offset
        )  # as the checkpoint does, without the active segment
    assert [each.split()[:2] for each in caplog.messages] == [["partition", "offline"]]
    assert str(path) in caplog.text
    with pytest.raises(errors.KafkaStorageError):
        append(log)


@LOST_WAYS
def test_s32_nothing_is_acknowledged_that_the_next_start_does_not_find(
    tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    log = open_log(tmp_path)
    append(log)
    lose(Path(log.segments.active.path))
    append(log)
    with pytest.raises(errors.KafkaStorageError):
        log.flusher.flush_records(2)
    assert log.flusher.recovery_point == 0


def test_s54_the_file_of_a_deleted_log_is_not_missed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = open_log(tmp_path)
    append(log)
    Path(log.segments.active.path).unlink()
    log.delete()
    with pytest.raises(errors.KafkaStorageError):
        log.flush()
    assert caplog.messages == []


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


@pytest.mark.parametrize("lose", [deleted, replaced, moved, cut])
def test_s32_a_flushed_segment_that_somebody_took_away_is_noticed_before_it_is_read(
    tmp_path: Path, lose: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    manager = with_partitions(tmp_path)
    logs = [manager.get("t", partition) for partition in (0, 1)]
    for log in logs:
        append(log)
        log.roll(NOW_MS)
        append(log)
        log.flush()
    manager.checkpoint()
    path = Path(logs[0].segments.all[0].path)
    lose(path)
    with pytest.raises(errors.KafkaStorageError):
        manager.checkpoint()
    manager.offline.take_failed()
    (line,) = caplog.messages
    assert line.startswith("partition offline")
    assert str(path) in line
    assert (("t", 0) in manager.offline, ("t", 1) in manager.offline) == (True, False)
    manager.checkpoint()  # the others go on
    manager.close()
    assert not (tmp_path / ".kafka_cleanshutdown").exists()


def test_s32_a_rolled_segment_that_cannot_be_looked_at_is_no_lost_one(
    tmp_path: Path, disk: Disk
) -> None:
    log = open_log(tmp_path)
    append(log)
    log.roll(NOW_MS)

    def refuse(_path: object) -> None:
        raise PermissionError(errno.EACCES, "not now")

    disk.answer("stat", refuse)
    with pytest.raises(errors.KafkaStorageError):
        log.flusher.look_at_rolled_files()
    disk.mend()
    assert log.flusher.offline_reason is None
    log.flusher.look_at_rolled_files()


@pytest.mark.parametrize("how", ["cleaned", "removed", "deleted"])
def test_s50_a_file_that_the_broker_takes_away_is_not_missed(
    tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    """S-54, S-89."""
    log = open_log(tmp_path)
    append(log)
    log.roll(NOW_MS)
    segment = log.segments.all[0]
    Path(segment.path).unlink()
    if how == "cleaned":
        log.segments.is_being_cleaned = True
    elif how == "removed":
        segment.is_removed = True
    else:
        log.delete()
    log.flusher.look_at_rolled_files()
    assert caplog.messages == []


def test_s32_a_log_that_is_offline_already_is_not_looked_at(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log)
    log.roll(NOW_MS)
    Path(log.segments.all[0].path).unlink()
    with pytest.raises(errors.KafkaStorageError):
        log.flusher.look_at_rolled_files()
    log.flusher.look_at_rolled_files()


@pytest.mark.parametrize("is_clean", [True, False], ids=["S-47", "S-44"])
def test_s44_records_that_went_while_nobody_looked_are_told_at_the_load(
    tmp_path: Path, is_clean: bool, caplog: pytest.LogCaptureFixture
) -> None:
    log = open_log(tmp_path)
    for _ in range(3):
        append(log)
    log.close()
    Path(log.segments.active.path).unlink()
    again = open_log(tmp_path, clean=is_clean, recovery_point=3)
    assert again.log_end_offset == 0
    told = f"records are lost directory={tmp_path} end_offset=0 were_on_disk_to=3"
    assert told in caplog.messages
    caplog.clear()
    open_log(tmp_path, clean=is_clean, recovery_point=0)
    assert "records are lost" not in caplog.text
