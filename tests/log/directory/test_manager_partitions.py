"""S-46, S-54, S-75: partitions that are new, only read, or deleted, and what they leave on disk.

Also tests: broker_lite.log.directory.partition_loading.
"""

import os
import shutil
from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log import timestamps
from broker_lite.log.config import LogConfig
from broker_lite.log.directory.manager import LogManager
from broker_lite.log.read import read_log
from tests.log.directory.test_manager import ID, OTHER_ID, opened, started
from tests.log.logs import FOREVER_MS, NOW_MS, STEM, append, end_transaction, files


def killed_and_opened(manager: LogManager) -> LogManager:
    """Open the directory of a manager that was never closed."""
    manager.abandon()
    return opened(manager.data_dir)


def test_what_was_never_used_needs_no_recovery(tmp_path: Path) -> None:
    manager = started(tmp_path, 0)
    manager.close()
    (tmp_path / ".kafka_cleanshutdown").unlink()
    again = opened(tmp_path)
    assert again.get("t", 0).log_end_offset == 0  # before anybody claimed it
    again.close()
    (tmp_path / ".kafka_cleanshutdown").unlink()
    (tmp_path / "t-0" / "00000000000000000000.log").unlink()
    again = started(tmp_path, 0)
    assert again.loaded_logs() == []
    again.close()
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_s75_an_empty_partition_that_nobody_claimed_keeps_its_id(tmp_path: Path) -> None:
    """S-46: an append makes its first file, and nothing is set aside."""
    manager = started(tmp_path, 0)
    manager.close()
    again = opened(tmp_path)
    assert append(again.get("t", 0)).base_offset == 0
    assert list(again.unclaimed()) == [("t", 0, ID)]
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_dir()] == ["t-0"]
    again.close()


@pytest.mark.parametrize("restart", ["none", "clean", "unclean"])
def test_s46_a_partition_that_is_only_read_has_no_files(tmp_path: Path, restart: str) -> None:
    """F-72, S-23, S-24, S-64, S-75: the answers are those of an empty log."""
    manager = started(tmp_path, 0)
    if restart != "none":
        manager.close()
        if restart == "unclean":
            (tmp_path / ".kafka_cleanshutdown").unlink()
        manager = started(tmp_path, 0)
    (tmp_path / "t-0").rename(tmp_path / "elsewhere")
    log = manager.get("t", 0)
    assert read_log(log, 0, max_bytes=9999) == (None, 0, 0, 0, None)
    with pytest.raises(errors.OffsetOutOfRange):
        read_log(log, 1, max_bytes=9999)
    assert log.epochs.end_offset_for(0, log.log_end_offset) == (0, 0)
    assert log.epochs.end_offset_for(1, log.log_end_offset) == (-1, -1)
    assert timestamps.offset_for_timestamp(log, 0) is None
    assert timestamps.max_timestamp_offset(log) is None
    assert log.delete_records_before(0) == 0
    assert (log.segments.size_bytes, manager.size_bytes("t", 0)) == (0, 0)
    log.flush()
    manager.checkpoint()
    (tmp_path / "elsewhere").rename(tmp_path / "t-0")
    assert timestamps.offsets_before(log, -1, 9, now_ms=NOW_MS) == [0]
    assert timestamps.offsets_before(log, 1, 9, now_ms=NOW_MS) == []
    assert files(tmp_path / "t-0").keys() == {"partition.metadata"}
    assert append(log).base_offset == 0
    assert files(tmp_path / "t-0").keys() == {
        "00000000000000000000.log",
        "leader-epoch-checkpoint",
        "partition.metadata",
    }
    manager.close()
    assert (tmp_path / ".kafka_cleanshutdown").exists()
    again = started(tmp_path, 0)
    assert again.get("t", 0).log_end_offset == 1
    again.close()


def test_s15_the_first_record_leaves_the_index_files_to_the_background(tmp_path: Path) -> None:
    manager = started(tmp_path, 0)
    append(manager.get("t", 0))
    indexes = {f"{STEM}.index", f"{STEM}.timeindex"}
    assert not indexes & files(tmp_path / "t-0").keys()
    manager.chores.work()
    assert indexes <= files(tmp_path / "t-0").keys()
    manager.close()


def test_s46_an_unused_log_that_is_rolled_or_ended_has_its_files_first(tmp_path: Path) -> None:
    manager = started(tmp_path, 0, 1)
    manager.get("t", 0).roll(NOW_MS)
    assert append(manager.get("t", 0)).base_offset == 0
    assert end_transaction(manager.get("t", 1), 5, commit=True) == 0
    assert "leader-epoch-checkpoint" in files(tmp_path / "t-1")
    manager.close()


def test_s46_records_that_no_checkpoint_knows_of_are_not_overwritten(tmp_path: Path) -> None:
    """Put there by hand, or left by another topic: an append fails, the data stays."""
    manager = started(tmp_path, 0)
    log = manager.get("t", 0)
    by_hand = tmp_path / "t-0" / "00000000000000000000.log"
    by_hand.write_bytes(b"records")
    for _ in range(2):
        with pytest.raises(errors.KafkaStorageError):
            append(log)
    assert by_hand.read_bytes() == b"records"
    by_hand.unlink()
    (tmp_path / "t-0" / "leader-epoch-checkpoint").mkdir()
    with pytest.raises(errors.KafkaStorageError):
        append(log)
    (tmp_path / "t-0" / "leader-epoch-checkpoint").rmdir()
    assert append(log).base_offset == 0
    manager.close()


def test_s97_the_empty_files_that_kafka_makes_of_each_partition_are_taken_over(
    tmp_path: Path,
) -> None:
    manager = started(tmp_path, 0)
    manager.close()
    for suffix in (".log", ".index", ".timeindex"):
        (tmp_path / "t-0" / f"00000000000000000000{suffix}").touch()
    manager = started(tmp_path, 0)
    assert append(manager.get("t", 0)).base_offset == 0
    manager.close()
    manager = started(tmp_path, 0)
    assert manager.get("t", 0).log_end_offset == 1
    manager.close()


@pytest.mark.parametrize("is_new", [True, False])
def test_s54_a_deleted_log_makes_no_files(tmp_path: Path, is_new: bool) -> None:
    """Not even where a new partition has its name by now."""
    manager = started(tmp_path, 0)
    log = manager.get("t", 0)
    manager.delete("t", 0)
    if is_new:
        manager.create("t", 0, OTHER_ID)
        manager.get("t", 0)
    with pytest.raises(errors.KafkaStorageError):
        append(log)
    manager.close()


@pytest.mark.parametrize("how", ["delete", "directory gone", "another topic's directory"])
def test_s46_a_new_partition_does_not_take_over_the_offsets_of_a_deleted_one(
    tmp_path: Path, how: str
) -> None:
    """S-70: killed before the next checkpoint, its records must not lie below an old log start."""
    manager = started(tmp_path, 0)
    for _ in range(9):
        append(manager.get("t", 0))
    manager.get("t", 0).delete_records_before(7)
    manager.checkpoint()
    if how == "delete":
        manager.delete("t", 0)
    else:
        manager.close()
        if how == "directory gone":  # killed after the deletion
            shutil.rmtree(tmp_path / "t-0")
        manager = opened(tmp_path)
        manager.chores.deleted_ids = {ID}
    manager.create("t", 0, OTHER_ID)
    append(manager.get("t", 0))
    again = killed_and_opened(manager)
    again.create("t", 0, OTHER_ID)
    again.recover()
    log = again.get("t", 0)
    assert (log.log_start_offset, log.log_end_offset) == (0, 1)
    again.close()


def test_a_deleted_log_does_not_write_into_the_directory_of_a_new_one(tmp_path: Path) -> None:
    """S-31: a produce request that waited meanwhile would roll it there."""
    manager = opened(tmp_path)
    manager.create("t", 0, ID, LogConfig(segment_bytes=150, segment_ms=FOREVER_MS))
    old = manager.get("t", 0)
    for _ in range(2):
        append(old)
    manager.delete("t", 0)
    manager.create("t", 0, OTHER_ID)
    append(manager.get("t", 0))
    before = files(tmp_path / "t-0")
    with pytest.raises(errors.KafkaStorageError):
        append(old)
    assert files(tmp_path / "t-0") == before
    manager.close()


def test_s75_a_directory_that_could_not_be_set_aside_does_not_change_hands(tmp_path: Path) -> None:
    """What a failed deletion left must not come back as the records of a new topic."""
    manager = started(tmp_path, 0)
    append(manager.get("t", 0))
    manager.close()
    (tmp_path / "t-0").rename(tmp_path / "t-1")
    manager = opened(tmp_path)
    (tmp_path / "t-1").rename(tmp_path / "t-2")
    manager.chores.deleted_ids = {ID}
    manager.create("t", 2, OTHER_ID)
    again = killed_and_opened(manager)
    again.create("t", 2, OTHER_ID)
    again.chores.deleted_ids = {ID}
    again.recover()
    assert again.get("t", 2).log_end_offset == 0
    assert len([name for name in os.listdir(tmp_path) if name.endswith("-stray")]) == 1
    again.close()


@pytest.mark.parametrize("was_clean", [True, False])
def test_s75_the_records_of_an_unknown_topic_id_are_not_hidden(
    tmp_path: Path, was_clean: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The partition is offline and its directory as it was, not a stray beside an empty one."""
    manager = started(tmp_path, 0)
    append(manager.get("t", 0))
    manager.close()
    if not was_clean:
        (tmp_path / ".kafka_cleanshutdown").unlink()
    before = files(tmp_path / "t-0")
    again = opened(tmp_path)
    again.create("t", 0, OTHER_ID)
    again.recover()
    for _ in range(2):
        with pytest.raises(errors.KafkaStorageError):
            again.get("t", 0)
    assert files(tmp_path / "t-0") == before
    assert len([each for each in caplog.messages if "topic id" in each]) == 1
    again.delete("t", 0)
    again.chores.finish()
    (aside,) = (name for name in os.listdir(tmp_path) if name.startswith("t-0."))
    assert aside.endswith("-stray"), "the deletion is not of these records"
    assert "another topic's id" in caplog.text
    again.close()


def test_v72_an_id_that_cannot_be_read_does_not_stop_the_start(tmp_path: Path) -> None:
    manager = started(tmp_path, 0, 1)
    for partition in (0, 1):
        append(manager.get("t", partition))
    manager.close()
    (tmp_path / ".kafka_cleanshutdown").unlink()
    (tmp_path / "t-0" / "partition.metadata").unlink()
    (tmp_path / "t-0" / "partition.metadata").mkdir()
    again = started(tmp_path, 0, 1)
    assert [log.partition for log in again.loaded_logs()] == [1]
    with pytest.raises(errors.KafkaStorageError):
        again.get("t", 0)
    again.close()
