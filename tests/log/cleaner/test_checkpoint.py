"""Up to where logs were cleaned: S-70, S-80."""

from pathlib import Path

import pytest

from broker_lite.errors import KafkaStorageError
from broker_lite.log.cleaner.checkpoint import CleanerCheckpoint, Key
from broker_lite.log.config import LogConfig
from broker_lite.log.directory.partitions import Partition
from broker_lite.log.files.checkpoints import CLEANER_FILE

A, B = ("a", 0), ("b", 1)


def some() -> dict[Key, Partition]:
    return {A: Partition(LogConfig()), B: Partition(LogConfig())}


def test_s_70_offsets_are_kept(tmp_path: Path) -> None:
    partitions = some()
    one = CleanerCheckpoint(tmp_path, partitions)
    assert (one.get(A), one.has_changed) == (None, False)
    one.note(A, 17)
    assert (one.get(A), one.has_changed) == (17, True)
    one.write()
    assert not one.has_changed
    assert (tmp_path / CLEANER_FILE).read_text() == "0\n1\na 0 17\n"
    assert CleanerCheckpoint(tmp_path, partitions).get(A) == 17


def test_a_topic_that_is_made_anew_begins_anew(tmp_path: Path) -> None:
    (tmp_path / CLEANER_FILE).write_text("0\n3\na 0 17\nb 1 4\nc 0 9\n")
    partitions = some()
    one = CleanerCheckpoint(tmp_path, partitions)
    partitions[A] = Partition(LogConfig())
    assert (one.get(A), one.get(B), one.get(("c", 0))) == (None, 4, None)
    assert one.has_changed
    del partitions[B]
    one.write()
    assert (tmp_path / CLEANER_FILE).read_text() == "0\n0\n"


def test_a_damaged_file_holds_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / CLEANER_FILE).write_text("1\n")
    assert CleanerCheckpoint(tmp_path, some()).get(A) is None
    assert "checkpoint ignored" in caplog.text


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    one = CleanerCheckpoint(tmp_path, some())
    one.note(A, 1)
    (tmp_path / (CLEANER_FILE + ".tmp")).mkdir()
    with pytest.raises(KafkaStorageError):
        one.write()
    assert one.has_changed
