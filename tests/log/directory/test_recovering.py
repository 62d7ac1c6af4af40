"""S-44: many logs are recovered at once, one that cannot be is offline, and all can be stopped."""

import os
from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.directory.manager import LogManager
from broker_lite.log.read import read_log
from broker_lite.log.recovery.load_watch import LoadStopped
from tests.log.logs import NOW_MS, append, content

TOPIC_ID = bytes(range(16))
COUNT = 5


def open_manager(path: Path) -> LogManager:
    manager = LogManager(path, node_id=1, now_ms=lambda: NOW_MS)
    manager.open()
    for partition in range(COUNT):
        manager.create("t", partition, TOPIC_ID)
    return manager


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """What a killed broker leaves; each partition has as many records as its number."""
    manager = open_manager(tmp_path)
    manager.recover()
    for partition in range(COUNT):
        for _ in range(partition):
            append(manager.get("t", partition))
    manager.abandon()
    return tmp_path


@pytest.mark.parametrize("threads", [1, 3])
def test_s44_all_logs_are_recovered(killed: Path, threads: int) -> None:
    manager = open_manager(killed)
    manager.recover(threads=threads)
    logs = {log.partition: log for log in manager.loaded_logs()}
    assert {number: log.log_end_offset for number, log in logs.items()} == {1: 1, 2: 2, 3: 3, 4: 4}
    assert content(read_log(logs[2], 1, max_bytes=99))
    assert logs[4].segments.cache is logs[1].segments.cache
    append(logs[4])
    manager.close()
    assert (killed / ".kafka_cleanshutdown").exists()


def test_s44_one_that_cannot_be_is_offline(killed: Path, caplog: pytest.LogCaptureFixture) -> None:
    """S-47: and the next start, without a mark of a clean stop, tries again."""
    (killed / "t-2" / "leader-epoch-checkpoint").unlink()
    (killed / "t-2" / "leader-epoch-checkpoint").mkdir()
    manager = open_manager(killed)
    manager.recover()
    assert "partition offline, not loaded partition=t-2" in caplog.text
    with pytest.raises(errors.KafkaStorageError, match="t-2 is offline"):
        manager.get("t", 2)
    assert manager.get("t", 4).log_end_offset == 4
    manager.close()
    assert not (killed / ".kafka_cleanshutdown").exists()


def test_s44_a_directory_that_cannot_be_listed_is_offline(killed: Path) -> None:
    manager = open_manager(killed)
    os.rename(killed / "t-3", killed / "away-3")
    manager.recover()
    with pytest.raises(errors.KafkaStorageError, match="offline"):
        manager.get("t", 3)


def test_s44_a_recovery_that_is_stopped_is_begun_again(killed: Path) -> None:
    manager = open_manager(killed)
    with pytest.raises(LoadStopped):
        manager.recover(is_stopping=lambda: True)
    manager.close()
    assert not (killed / ".kafka_cleanshutdown").exists()
    again = open_manager(killed)
    again.recover()
    assert sorted(log.log_end_offset for log in again.loaded_logs()) == [1, 2, 3, 4]
    again.close()
