"""S-04, S-41: a crash while segments were deleted or cleaned leaves nothing in the way."""

import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from broker_lite.log.config import LogConfig
from broker_lite.log.recovery.temporary_files import finish_interrupted_changes
from tests.log.logs import FOREVER_MS, append, batch_bytes, open_log
from tests.support.disk import Disk


def name(offset: int, suffix: str) -> str:
    return f"{offset:020d}.{suffix}"


def test_without_temporary_files_nothing_changes(tmp_path: Path) -> None:
    (tmp_path / name(0, "log")).write_bytes(b"abc")
    (tmp_path / "directory").mkdir()
    assert finish_interrupted_changes(str(tmp_path)) == {name(0, "log"): 3}


def test_s41_deleted_and_half_written_files_go(tmp_path: Path) -> None:
    for file in (name(0, "log.deleted"), name(3, "snapshot.deleted"), "x.tmp", "keep"):
        (tmp_path / file).touch()
    assert finish_interrupted_changes(str(tmp_path)) == {"keep": 0}
    assert [path.name for path in tmp_path.iterdir()] == ["keep"]


def test_s41_an_unfinished_cleaning_is_undone(tmp_path: Path) -> None:
    """Step 2: swap files from the smallest cleaned base on go; those below it are complete."""
    for file in (
        name(0, "log.swap"),
        name(5, "log.cleaned"),
        name(5, "index.cleaned"),
        name(5, "log.swap"),
        name(9, "log.swap"),
        name(9, "log"),
    ):
        (tmp_path / file).touch()
    assert finish_interrupted_changes(str(tmp_path)) == {name(0, "log"): 0, name(9, "log"): 0}


def test_s41_a_finished_cleaning_is_swapped_in(tmp_path: Path) -> None:
    """Steps 3 and 4: what the swap files cover is replaced."""
    log = open_log(tmp_path, LogConfig(segment_bytes=150, segment_ms=FOREVER_MS))
    for _ in range(6):
        append(log)
    log.close()
    data = (tmp_path / name(0, "log")).read_bytes() + (tmp_path / name(2, "log")).read_bytes()
    (tmp_path / name(0, "log.swap")).write_bytes(data)
    left = finish_interrupted_changes(str(tmp_path))
    assert left[name(0, "log")] == 4 * len(batch_bytes())
    assert name(2, "log") not in left
    assert name(4, "log") in left
    assert open_log(tmp_path).log_end_offset == 6


def test_s41_a_damaged_swap_file_covers_what_is_whole(tmp_path: Path) -> None:
    (tmp_path / name(0, "log.swap")).write_bytes(batch_bytes() + bytes(40))
    for offset in (0, 1):
        (tmp_path / name(offset, "log")).touch()
    left = finish_interrupted_changes(str(tmp_path))
    assert left == {name(0, "log"): len(batch_bytes()) + 40, name(1, "log"): 0}


@pytest.mark.parametrize("goes", ["before-its-size-is-read", "before-it-is-removed"])
def test_s54_what_another_thread_deletes_is_not_missed(
    tmp_path: Path, disk: Disk, goes: str
) -> None:
    """Retention deletes it in a log that nobody has loaded, which somebody loads now."""
    deleted = tmp_path / name(0, "log.deleted")
    deleted.touch()
    (tmp_path / "keep").touch()
    scandir, unlink = os.scandir, os.unlink

    def scan_late(path: str) -> object:
        with scandir(path) as entries:
            found = list(entries)
        deleted.unlink()
        return nullcontext(found)

    def unlink_late(path: str) -> None:
        unlink(path)
        unlink(path)

    if goes == "before-its-size-is-read":
        disk.answer("scandir", scan_late)
    else:
        disk.answer("unlink", unlink_late)
    assert finish_interrupted_changes(str(tmp_path)) == {"keep": 0}


@pytest.mark.parametrize("has_target", [True, False])
def test_s42_what_is_no_file_but_has_the_name_of_one_is_an_error(
    tmp_path: Path, has_target: bool
) -> None:
    """Without it records, or the states of producers, would be missed in silence."""
    path = tmp_path / name(0, "snapshot")
    if has_target:
        path.mkdir()
    else:
        path.symlink_to(tmp_path / "gone")
    with pytest.raises(OSError, match=path.name):
        finish_interrupted_changes(str(tmp_path))
