"""S-46, S-70: the checkpoint files of a running broker."""

from pathlib import Path

import pytest

from broker_lite import errors
from tests.log.directory.test_retention import ID, started
from tests.log.logs import append

LOG_STARTS = "log-start-offset-checkpoint"


def test_s70_log_starts_are_written_by_themselves(tmp_path: Path) -> None:
    manager = started(tmp_path, 2)
    for _ in range(3):
        append(manager.get("t", 1))
    manager.get("t", 1).delete_records_before(2)
    manager.checkpoints.write_log_starts()
    assert (tmp_path / LOG_STARTS).read_text() == "0\n1\nt 1 2\n"
    assert not (tmp_path / "recovery-point-offset-checkpoint").exists()
    manager.retention.read(key for keys in manager.retention.unread() for key in keys)
    list(manager.retention.steps())
    manager.checkpoints.write()
    assert (tmp_path / LOG_STARTS).read_text() == "0\n0\n"
    manager.close(sync=False)


def test_s46_a_log_start_is_forgotten_before_its_name_is_used_again(tmp_path: Path) -> None:
    manager = started(tmp_path)
    append(manager.get("t", 0))
    manager.get("t", 0).delete_records_before(1)
    append(manager.get("t", 0))
    manager.checkpoints.write_log_starts()
    manager.delete("t", 0)
    manager.create("t", 0, ID)
    assert (tmp_path / LOG_STARTS).read_text() == "0\n0\n"
    manager.close(sync=False)


def test_s70_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    manager = started(tmp_path)
    (tmp_path / (LOG_STARTS + ".tmp")).mkdir()
    for write in (manager.checkpoints.write_log_starts, manager.checkpoints.write):
        with pytest.raises(errors.KafkaStorageError):
            write()
    (tmp_path / (LOG_STARTS + ".tmp")).rmdir()
    manager.close(sync=False)
