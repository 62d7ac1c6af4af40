"""Snapshots of a data directory: what is in them, and a start from one."""

import os
import shutil
from pathlib import Path

import pytest

from broker_lite.errors import KafkaStorageError
from broker_lite.log.config import LogConfig
from broker_lite.log.directory.data_directory import erase
from broker_lite.log.directory.manager import LogManager
from broker_lite.log.directory.snapshots import (
    is_being_cleaned,
    remove_folder_if_empty,
    restore_snapshot,
    save_snapshot,
    snapshots_of,
)
from tests.log.logs import NOW_MS, append, batch_bytes

ID = bytes(range(1, 17))
SMALL = LogConfig(segment_bytes=2 * len(batch_bytes()))


def started(path: Path, *topics: str) -> LogManager:
    manager = LogManager(path, node_id=1, now_ms=lambda: NOW_MS)
    manager.open()
    for topic in topics:
        manager.create(topic, 0, ID, SMALL)
    manager.recover()
    return manager


def log_files(path: Path) -> list[os.stat_result]:
    return [each.stat() for each in sorted(path.glob("*.log"))]


def test_a_start_from_a_snapshot_needs_no_recovery(tmp_path: Path) -> None:
    manager = started(tmp_path, "t", "unused")
    for _ in range(5):
        append(manager.get("t", 0))
    manager.get("t", 0).delete_records_before(1)
    snapshot = save_snapshot(manager, "s", broker_epoch=7)
    append(manager.get("t", 0))
    manager.abandon()
    erase(tmp_path)
    assert snapshots_of(tmp_path) == [snapshot]
    restore_snapshot(snapshot, tmp_path)
    again = started(tmp_path, "t", "unused")
    assert again.was_clean
    log = again.get("t", 0)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (1, 5, 5)
    append(log)
    again.close()


def test_only_segments_that_are_not_written_any_more_are_shared(tmp_path: Path) -> None:
    manager = started(tmp_path, "t")
    for _ in range(5):
        append(manager.get("t", 0))
    snapshot = save_snapshot(manager, "s", broker_epoch=0)
    saved, there = log_files(snapshot / "t-0"), log_files(tmp_path / "t-0")
    assert [each.st_size for each in saved] == [each.st_size for each in there]
    is_shared = [one.st_ino == other.st_ino for one, other in zip(saved, there, strict=True)]
    assert is_shared == [True, True, False]
    manager.close()


def test_a_log_that_is_not_loaded(tmp_path: Path) -> None:
    manager = started(tmp_path, "t", "unused")
    append(manager.get("t", 0))
    manager.close()
    manager = started(tmp_path, "t", "unused")
    snapshot = save_snapshot(manager, "s", broker_epoch=0)
    assert manager.loaded_logs() == []
    manager.abandon()
    erase(tmp_path)
    restore_snapshot(snapshot, tmp_path)
    manager = started(tmp_path, "t", "unused")
    assert manager.get("t", 0).log_end_offset == 1
    assert manager.get("unused", 0).log_end_offset == 0
    manager.close()


def test_all_that_was_written_to_is_saved(tmp_path: Path) -> None:
    manager = started(tmp_path, "t", "u", "unused")
    manager.open_metadata_log()
    for topic in ("t", "u"):
        append(manager.get(topic, 0))
    snapshot = save_snapshot(manager, "s", broker_epoch=0)
    names = {each.name for each in snapshot.iterdir() if each.is_dir()}
    assert names == {"__cluster_metadata-0", "t-0", "u-0"}
    manager.close()


def test_the_folder_goes_with_the_last_snapshot(tmp_path: Path) -> None:
    manager = started(tmp_path, "t")
    snapshot = save_snapshot(manager, "s", broker_epoch=0)
    remove_folder_if_empty(tmp_path)
    assert snapshot.exists()
    shutil.rmtree(snapshot)
    remove_folder_if_empty(tmp_path)
    assert not snapshot.parent.exists()
    remove_folder_if_empty(tmp_path)
    manager.close()


def test_a_snapshot_replaces_one_of_the_same_name(tmp_path: Path) -> None:
    manager = started(tmp_path, "t")
    for _ in range(3):
        append(manager.get("t", 0))
        snapshot = save_snapshot(manager, "s", broker_epoch=0)
    text = (snapshot / "recovery-point-offset-checkpoint").read_text()
    assert text == "0\n1\nt 0 3\n"
    assert snapshots_of(tmp_path) == [snapshot]
    manager.close()


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    manager = started(tmp_path, "t")
    append(manager.get("t", 0))
    snapshot = save_snapshot(manager, "s", broker_epoch=0)
    before = sorted(os.listdir(snapshot))
    os.rename(tmp_path / "t-0", tmp_path / "elsewhere")
    with pytest.raises(KafkaStorageError, match="snapshot s: "):
        save_snapshot(manager, "s", broker_epoch=0)
    os.rename(tmp_path / "elsewhere", tmp_path / "t-0")
    assert sorted(os.listdir(snapshot)) == before
    assert os.listdir(tmp_path / ".snapshots") == ["s"]
    manager.close()


def test_a_partition_whose_disk_failed(tmp_path: Path) -> None:
    manager = started(tmp_path, "t")
    append(manager.get("t", 0))
    manager.offline.take(manager.get("t", 0).visibility)
    with pytest.raises(KafkaStorageError, match="partition t-0 is not usable"):
        save_snapshot(manager, "s", broker_epoch=0)
    manager.abandon()


def test_a_snapshot_that_is_not_there(tmp_path: Path) -> None:
    assert snapshots_of(tmp_path) == []
    with pytest.raises(KafkaStorageError, match="snapshot none: "):
        restore_snapshot(tmp_path / "none", tmp_path)


def test_logs_that_are_being_cleaned(tmp_path: Path) -> None:
    manager = started(tmp_path, "t")
    assert not is_being_cleaned(manager)
    manager.get("t", 0).segments.is_being_cleaned = True
    assert is_being_cleaned(manager)
    manager.close()
