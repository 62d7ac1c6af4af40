"""S-02, S-15, S-54: what a worker thread does with the files of deleted and of new partitions."""

from pathlib import Path

import pytest

from tests.log.directory.test_manager import ID, OTHER_ID, started
from tests.log.logs import append, files


def directories(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir() if entry.is_dir())


def test_s54_deleted_partitions_are_renamed_first_then_removed(tmp_path: Path) -> None:
    """S-02: a crash in between leaves directories that the next start removes."""
    manager = started(tmp_path, 0, 1, 2)
    append(manager.get("t", 0))
    manager.chores.work()
    for partition in range(3):
        manager.delete("t", partition)
    assert directories(tmp_path) == ["t-0", "t-1", "t-2"]
    manager.chores.work(3)
    assert [name.rpartition("-")[2] for name in directories(tmp_path)] == ["delete"] * 3
    manager.chores.work(1)
    assert len(directories(tmp_path)) == 2
    manager.close()
    again = started(tmp_path)
    again.chores.work()
    assert directories(tmp_path) == []
    again.close()


def test_s54_a_stop_frees_the_names(tmp_path: Path) -> None:
    """Else the next start would keep them as strays."""
    manager = started(tmp_path, 0)
    manager.delete("t", 0)
    manager.close()
    assert [name.endswith("-delete") for name in directories(tmp_path)] == [True]


def test_s02_the_name_of_a_deleted_partition_is_free_at_once(tmp_path: Path) -> None:
    manager = started(tmp_path, 0)
    append(manager.get("t", 0))
    manager.delete("t", 0)
    manager.create("t", 0, OTHER_ID)
    assert manager.get("t", 0).log_end_offset == 0
    append(manager.get("t", 0))
    manager.chores.work()
    assert directories(tmp_path) == ["t-0"]
    manager.close()


def test_s54_a_directory_that_cannot_be_renamed_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    manager = started(tmp_path, 0)
    (tmp_path / "t-0").rename(tmp_path / "elsewhere")
    manager.delete("t", 0)
    manager.chores.work()
    assert "files of a deleted partition stay t-0" in caplog.text
    assert not manager.chores
    manager.close()


def test_s15_a_new_segment_gets_its_index_files_in_the_background(tmp_path: Path) -> None:
    """A log that is deleted meanwhile gets none."""
    manager = started(tmp_path, 0, 1)
    for partition in (0, 1):
        append(manager.get("t", partition))
        assert not list(tmp_path.glob(f"t-{partition}/*index"))
    manager.delete("t", 1)
    manager.create("t", 1, ID)
    assert manager.chores
    manager.chores.work()
    assert {name for name in files(tmp_path / "t-0") if "index" in name} == {
        "00000000000000000000.index",
        "00000000000000000000.timeindex",
    }
    assert files(tmp_path / "t-1").keys() == {"partition.metadata"}
    manager.close()
