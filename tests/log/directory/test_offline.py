"""S-32: a log whose disk failed is not used any more; the next start reads its files again."""

from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.config import LogConfig
from broker_lite.log.directory.manager import LogManager
from tests.log.directory.test_manager import ID, opened
from tests.log.logs import FOREVER_MS, NOW_MS, append, files, in_the_way, put_back
from tests.support.disk import Disk

CONFIG = LogConfig(flush_messages=1, segment_ms=FOREVER_MS)


def with_partitions(data_dir: Path, count: int = 2) -> LogManager:
    manager = opened(data_dir)
    for partition in range(count):
        manager.create("t", partition, ID, CONFIG)
    return manager


def test_s32_an_append_that_cannot_be_flushed_takes_its_log_offline(
    tmp_path: Path, disk: Disk
) -> None:
    manager = with_partitions(tmp_path)
    taken: list[tuple[str, int]] = []
    manager.offline.when_taken = lambda topic, partition: taken.append((topic, partition))
    append(manager.get("t", 0))
    disk.refuse("fsync")
    with pytest.raises(errors.KafkaStorageError):
        append(manager.get("t", 0))
    disk.mend()
    with pytest.raises(errors.KafkaStorageError):
        manager.get("t", 0)
    append(manager.get("t", 1))
    assert (taken, ("t", 0) in manager.offline, ("t", 1) in manager.offline) == (
        [("t", 0)],
        True,
        False,
    )
    manager.checkpoint()
    assert "t 0 1" in (tmp_path / "recovery-point-offset-checkpoint").read_text()
    manager.close()
    assert not (tmp_path / ".kafka_cleanshutdown").exists()
    again = with_partitions(tmp_path)
    again.recover()
    assert append(again.get("t", 0)).base_offset in {1, 2}  # the second one may have come through
    again.close()
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_s32_a_flush_of_another_thread_takes_its_log_offline_too(
    tmp_path: Path, disk: Disk
) -> None:
    manager = with_partitions(tmp_path)
    manager.update_config("t", 2, LogConfig(flush_ms=1, segment_ms=FOREVER_MS))
    first, second = manager.get("t", 0), manager.get("t", 1)
    append(first)
    woken: list[bool] = []
    first.visibility.add_waiter(lambda: woken.append(("t", 0) in manager.offline))
    disk.refuse("fsync")
    with pytest.raises(errors.KafkaStorageError):
        first.flush()
    disk.mend()
    failures = manager.commits.failures
    manager.offline.take_failed()
    assert (woken, manager.commits.failures) == ([True], failures + 1)
    manager.offline.take(first.visibility)  # it is already
    assert manager.loaded_logs() == [second]
    with pytest.raises(errors.KafkaStorageError):
        append(first, now_ms=NOW_MS)
    manager.delete("t", 0)
    manager.create("t", 0, ID, CONFIG)
    append(manager.get("t", 0))
    manager.close()


def test_s32_an_unused_log_that_was_taken_offline_makes_no_files(tmp_path: Path) -> None:
    """S-46: its partition has another log by now, which has the directory."""
    manager = with_partitions(tmp_path)
    old = manager.get("t", 0)
    manager.offline.take(old.visibility)
    manager.offline.take_back(("t", 0))
    append(manager.get("t", 0))
    before = files(tmp_path / "t-0")
    with pytest.raises(errors.KafkaStorageError):
        append(old)
    assert files(tmp_path / "t-0") == before
    manager.close()


def test_s44_a_log_that_cannot_be_loaded_is_told_once_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It was an error of each request, without a line in the log."""
    manager = with_partitions(tmp_path, 1)
    append(manager.get("t", 0))
    manager.close()
    path = tmp_path / "t-0" / "leader-epoch-checkpoint"
    for _ in range(2):  # the second time is told again
        again = with_partitions(tmp_path, 1)
        in_the_way(path, tmp_path / "away")
        caplog.clear()
        for _ in range(3):
            with pytest.raises(errors.KafkaStorageError):
                again.get("t", 0)
        (line,) = caplog.messages
        assert line.startswith("not loaded partition=t-0 reason=")
        put_back(path, tmp_path / "away")
        assert again.get("t", 0).log_end_offset == 1
        again.close()
