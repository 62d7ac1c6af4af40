"""S-76 to S-78: which directories are written to, and how a broker's looks afterwards."""

import os
from pathlib import Path

import pytest

from broker_lite.log.directory.data_directory import DirectoryLock
from broker_lite.log.files.checkpoints import parse_offsets
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.log_root import (
    WriteRefused,
    is_data_directory,
    locked,
    note_ends,
    refuse_unknown_partition,
    refuse_unusable,
    sweep,
    unclean_meanwhile,
)
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.write.log_writer import Placement
from tests.pipeline.support import Partition, numbered
from tests.pipeline.write_support import stage

IO = LocalFileIO()
MARK = '{"version":0,"brokerEpoch":7}'


@pytest.fixture
def data_directory(tmp_path: Path) -> Path:
    """What a broker leaves at a clean stop, without any partition."""
    (tmp_path / "meta.properties").write_text("version=1\n")
    (tmp_path / ".kafka_cleanshutdown").write_text(MARK)
    return tmp_path


def test_s_78_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    lock = DirectoryLock(tmp_path)
    with pytest.raises(WriteRefused, match="in use by another process"), locked(IO, str(tmp_path)):
        pass
    lock.release()
    with locked(IO, str(tmp_path)):
        pass


def test_a_directory_is_made_to_be_locked(tmp_path: Path) -> None:
    with locked(IO, str(tmp_path / "new")):
        assert (tmp_path / "new").is_dir()


def test_storage_without_locks(tmp_path: Path) -> None:
    io, path = open_file_io("memory://no/locks")
    with locked(io, path):
        refuse_unusable(io, path)


def test_plain_directories_can_be_written_to(tmp_path: Path) -> None:
    refuse_unusable(IO, str(tmp_path / "missing"))
    refuse_unusable(IO, str(tmp_path))
    refuse_unknown_partition(IO, str(tmp_path), str(tmp_path / "topic-0"))
    assert not is_data_directory(IO, str(tmp_path))


def test_the_directory_of_a_partition_is_refused(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        partition.append(numbered(1))
    with pytest.raises(WriteRefused, match="is the directory of a partition"):
        refuse_unusable(IO, str(partition.directory))


def test_s_77_an_unclean_data_directory_is_refused(data_directory: Path) -> None:
    refuse_unusable(IO, str(data_directory))
    (data_directory / ".kafka_cleanshutdown").unlink()
    with pytest.raises(WriteRefused, match="start and stop its broker first"):
        refuse_unusable(IO, str(data_directory))


def test_a_data_directory_elsewhere_is_refused() -> None:
    io, path = open_file_io("memory://data-of-a-broker")
    io.make_directory(path)
    with io.create(f"{path}/meta.properties") as file:
        file.write(b"version=1\n")
    with pytest.raises(WriteRefused, match="only a local path"):
        refuse_unusable(io, path)


def test_s_96_a_partition_that_no_broker_made_is_refused(data_directory: Path) -> None:
    (data_directory / "topic-0").mkdir()
    refuse_unknown_partition(IO, str(data_directory), str(data_directory / "topic-0"))
    with pytest.raises(WriteRefused, match="no partition topic-1: create its topic"):
        refuse_unknown_partition(IO, str(data_directory), str(data_directory / "topic-1"))


def test_s_77_the_mark_is_away_meanwhile(data_directory: Path) -> None:
    mark = data_directory / ".kafka_cleanshutdown"
    with unclean_meanwhile(data_directory):
        assert not mark.exists()
    assert mark.read_text() == MARK
    with pytest.raises(OSError, match="disk"), unclean_meanwhile(data_directory):
        raise OSError("disk")
    assert not mark.exists()


def test_s_70_checkpoints_name_the_new_ends(data_directory: Path) -> None:
    point = data_directory / "recovery-point-offset-checkpoint"
    point.write_text("0\n2\nother 3 9\ntopic 0 1\n")
    note_ends(data_directory, {("topic", 0): 5, ("topic", 1): 6})
    ends = {("topic", 0): 5, ("topic", 1): 6}
    assert parse_offsets(point.read_text()) == {("other", 3): 9, **ends}
    watermarks = data_directory / "replication-offset-checkpoint"
    assert parse_offsets(watermarks.read_text()) == ends


def test_a_sweep_removes_what_one_job_left(tmp_path: Path) -> None:
    root = str(tmp_path)
    for tag in ("job-1", "job-2", "other-1"):
        stage(Placement(root, "topic", 0, tag), numbered(3))
    (tmp_path / "foreign").mkdir()
    assert sweep(IO, root, "job-") == 6
    left = os.listdir(tmp_path / "topic-0")
    assert len(left) == 3
    assert all(".other-1." in name for name in left)
    assert sweep(IO, str(tmp_path / "missing"), "job-") == 0
