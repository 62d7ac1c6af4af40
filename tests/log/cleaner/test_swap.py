"""Segments take the place of others, whatever happens meanwhile: S-41, S-89."""

import os
import shutil
from pathlib import Path

import pytest

from broker_lite.errors import KafkaStorageError
from broker_lite.log.cleaner.pace import CleaningStopped
from broker_lite.log.config import LogConfig
from broker_lite.log.read import read_log
from tests.log.cleaner.cleaning import CleanedLog, records_of, view
from tests.log.logs import batches_of, content, end_transaction, open_log
from tests.support.disk import Disk


def three_segments(data_dir: Path) -> CleanedLog:
    """Segments at 0, 3 and 5 that become one, and an active one at 7."""
    given = CleanedLog(data_dir)
    given.append(("a", "1"), producer=(7, 0, 0), transactional=True)
    end_transaction(given.log, 7, commit=False)
    given.append(("b", "1"), producer=(7, 0, 1))
    given.roll()
    given.append(("b", "2"), ("c", "1"))
    given.roll()
    given.append(("c", "2"), ("d", "1"))
    given.roll()
    given.append(("e", "1"))
    return given


AFTER = [(3, "b", "2"), (5, "c", "2"), (6, "d", "1"), (7, "e", "1")]


def test_s_89_a_swap(tmp_path: Path) -> None:
    given = three_segments(tmp_path)
    with_reader = read_log(given.log, 0, max_bytes=10_000)
    before = content(with_reader)
    given.clean()
    assert given.records() == AFTER
    assert [one.base_offset for one in given.log.segments.all] == [0, 7]
    assert content(with_reader) == before  # who reads goes on reading
    plain = [name for name in given.files() if not name.endswith(".deleted")]
    assert plain == [
        *(f"{0:020d}{suffix}" for suffix in (".index", ".log", ".timeindex", ".txnindex")),
        *(f"{7:020d}{suffix}" for suffix in (".log", ".snapshot")),
        "leader-epoch-checkpoint",
    ]
    assert (
        records_of(map(view, batches_of(content(read_log(given.log, 0, max_bytes=9999)))))
        == AFTER[:3]
    )
    given.log.flush()
    given.log.close()
    again = open_log(given.directory, given.settings)
    assert again.log_end_offset == 8


class _Crash(Exception):
    """The process is gone."""


def crash_at(disk: Disk, renames: int, error: type[Exception]) -> list[int]:
    """Let the rename with this number fail, and all that follow it when it is a crash."""
    real, seen = os.rename, [0]

    def rename(old: str, new: str) -> None:
        seen[0] += 1
        if seen[0] > renames and (error is _Crash or seen[0] == renames + 1):
            raise error("no rename")
        real(old, new)

    disk.answer("rename", rename)
    return seen


def test_a_crash_at_each_rename_s41_s89(tmp_path: Path, disk: Disk) -> None:
    with disk.changed():
        seen = crash_at(disk, 1000, _Crash)
        three_segments(tmp_path / "whole").clean()
    total = seen[0]
    assert total >= 4 + 4 + 3 * 4
    outcomes = []
    for renames in range(total):
        given = three_segments(tmp_path / str(renames))
        before = given.records()
        with disk.changed():
            crash_at(disk, renames, _Crash)
            with pytest.raises(_Crash):
                given.clean()
        log = given.reopened()
        left = [p for one in log.segments.all for p in batches_of(Path(one.path).read_bytes())]
        records = records_of(map(view, left))
        outcomes.append({tuple(before): "before", tuple(AFTER): "after"}[tuple(records)])
        assert log.log_end_offset == 8
        assert not [name for name in given.files() if name.endswith((".swap", ".cleaned"))]
        shutil.rmtree(tmp_path / str(renames))
    assert outcomes == ["before"] * 4 + ["after"] * (total - 4)


@pytest.mark.parametrize("renames", range(4))
def test_an_error_before_the_swap_changes_nothing_s89(
    tmp_path: Path, disk: Disk, renames: int
) -> None:
    given = three_segments(tmp_path)
    before, names = given.records(), given.files()
    with disk.changed():
        crash_at(disk, renames, OSError)
        with pytest.raises(OSError, match="no rename"):
            given.clean()
    assert given.records() == before
    assert not given.log.segments.is_being_cleaned
    assert [n for n in given.files() if not n.endswith(".cleaned")] == names
    assert given.clean() == 7  # at the next time
    assert given.records() == AFTER


def test_an_error_in_the_swap_is_told_s89(tmp_path: Path, disk: Disk) -> None:
    given = three_segments(tmp_path)
    with disk.changed():
        crash_at(disk, 4, OSError)
        with pytest.raises(KafkaStorageError):
            given.clean()
    assert [one.base_offset for one in given.log.segments.all] == [0, 7]
    assert given.cleaner.checkpoint.get(("topic", 0)) is None


def test_a_log_that_was_deleted_meanwhile(tmp_path: Path) -> None:
    given = three_segments(tmp_path)
    cleaning = given.begin()
    cleaning.gather()
    cleaned = cleaning.rewrite_next()
    assert cleaned is not None
    given.log.delete()
    with pytest.raises(CleaningStopped):
        given.cleaner.swap(cleaning, cleaned)
    given.cleaner.done(cleaning)
    assert not [name for name in given.files() if name.endswith((".swap", ".cleaned"))]


def test_a_log_that_is_not_to_be_compacted_any_more(tmp_path: Path) -> None:
    given = three_segments(tmp_path)
    given.log.update_config(LogConfig())
    with pytest.raises(CleaningStopped):
        given.clean()
    assert not [name for name in given.files() if name.endswith((".swap", ".cleaned"))]
    assert given.records()[0] == (0, "a", "1")
