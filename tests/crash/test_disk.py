"""The model of a disk that loses what was not synced, and the journal that it is fed from."""

import os
import random
import threading
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from tests.crash.calls import Call, watch
from tests.crash.disk import PAGE_BYTES, Disk
from tests.crash.journal import SYNC_BEGINS, Entry, Recorder, entries_of

SEEDS = range(40)


def entry(kind: str, path: str, target: str = "", data: bytes = b"", number: int = 0) -> Entry:
    return Entry(kind, path, target, data, number)


def synced(path: str, number: int = 1) -> list[Entry]:
    return [entry(SYNC_BEGINS, path, "sync", number=number), entry("sync", path, number=number)]


def tree(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def outcomes(folder: Path, entries: Iterable[Entry]) -> list[dict[str, bytes]]:
    """What is left of an empty directory, for many seeds."""
    root = folder / "root"
    root.mkdir()
    disk = Disk(root)
    disk.replay(entries)
    found = []
    for seed in SEEDS:
        left = folder / f"left-{seed}"
        disk.power_off(random.Random(seed), left)
        found.append(tree(left))
    return found


def test_what_is_synced_with_its_name_is_there(tmp_path: Path) -> None:
    entries = [entry("create", "a"), entry("write", "a", data=b"xyz"), *synced("a"), *synced(".")]
    assert outcomes(tmp_path, entries) == [{"a": b"xyz"}] * len(SEEDS)


def test_a_name_needs_its_directory_s_sync(tmp_path: Path) -> None:
    entries = [entry("create", "a"), entry("write", "a", data=b"xyz"), *synced("a")]
    found = outcomes(tmp_path, entries)
    assert {} in found
    assert {"a": b"xyz"} in found
    assert all(each in ({}, {"a": b"xyz"}) for each in found)


def test_what_was_written_after_a_sync_began_is_not_sure(tmp_path: Path) -> None:
    entries = [
        *(entry("create", "a"), *synced("."), entry("write", "a", data=b"1")),
        entry(SYNC_BEGINS, "a", "sync", number=2),
        entry("write", "a", data=b"2", number=1),
        entry("sync", "a", number=2),
    ]
    found = outcomes(tmp_path, entries)
    assert {each["a"] for each in found} == {b"1", b"12"}


def test_pages_get_lost_one_by_one(tmp_path: Path) -> None:
    data = b"1" * PAGE_BYTES + b"2" * PAGE_BYTES
    entries = [entry("create", "a"), *synced("."), entry("write", "a", data=data)]
    found = {each["a"] for each in outcomes(tmp_path, entries)}
    assert found == {b"", data, data[:PAGE_BYTES], bytes(PAGE_BYTES) + data[PAGE_BYTES:]}


def test_a_replaced_file_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    entries = [
        *(entry("create", "a"), entry("write", "a", data=b"old"), *synced("a"), *synced(".")),
        *(entry("create", "b"), entry("write", "b", data=b"new"), *synced("b")),
        entry("rename", "b", "a"),
    ]
    found = outcomes(tmp_path, entries)
    assert all(each.get("a") in (b"old", b"new") for each in found)
    assert {"a": b"new"} in found
    assert {"a": b"old", "b": b"new"} in found
    assert {"a": b"old"} in found


def test_cuts_and_removals_get_lost_too(tmp_path: Path) -> None:
    entries = [
        *(entry("mkdir", "d"), entry("create", "d/a"), entry("write", "d/a", data=b"xyz")),
        *(*synced("d/a"), *synced("d"), *synced(".")),
        *(entry("cut", "d/a", number=1), entry("remove", "d/a")),
    ]
    assert {each.get("d/a") for each in outcomes(tmp_path, entries)} == {None, b"xyz", b"x"}


def test_syncs_of_two_threads_do_not_count_twice(tmp_path: Path) -> None:
    entries = [
        *(entry("create", "a"), *synced("."), entry("write", "a", data=b"1")),
        entry(SYNC_BEGINS, "a", "sync", number=2),
        entry(SYNC_BEGINS, "a", "sync", number=3),
        entry("sync", "a", number=3),
        entry("write", "a", data=b"2", number=1),
        entry("sync", "a", number=2),
    ]
    assert {each["a"] for each in outcomes(tmp_path, entries)} == {b"1", b"12"}


def test_all_is_sure_after_a_sync_of_everything(tmp_path: Path) -> None:
    entries = [
        *(entry("mkdir", "d"), entry("create", "d/a"), entry("write", "d/a", data=b"x")),
        entry(SYNC_BEGINS, ".", "sync-all", number=1),
        entry("sync-all", ".", number=1),
    ]
    assert outcomes(tmp_path, entries) == [{"d/a": b"x"}] * len(SEEDS)


def test_a_journal_tells_what_happened(tmp_path: Path) -> None:
    root, journal = tmp_path / "root", tmp_path / "journal"
    root.mkdir()
    disk = Disk(root)
    with closing(Recorder(journal, root)) as recorder, watch(root, [recorder]):
        (root / "d").mkdir()
        fd = os.open(root / "d" / "a.tmp", os.O_CREAT | os.O_RDWR)
        os.pwrite(fd, b"abcdef", 0)
        os.ftruncate(fd, 4)
        os.rename(root / "d" / "a.tmp", root / "d" / "a")
        other = threading.Thread(target=os.fsync, args=(fd,))
        other.start()
        other.join()
        os.close(fd)
        (root / "gone").mkdir()
        os.rmdir(root / "gone")
        for directory in (root / "d", root):
            fd = os.open(directory, os.O_RDONLY)
            os.fsync(fd)
            os.close(fd)
    disk.replay(entries_of(journal))
    disk.power_off(random.Random(1), tmp_path / "left")
    assert tree(tmp_path / "left") == tree(root) == {"d/a": b"abcd"}
    assert not (tmp_path / "left" / "gone").exists()


def test_a_file_is_told_of_before_another_thread_writes_to_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    told = []

    def write() -> None:
        fd = os.open(path, os.O_CREAT | os.O_RDWR)
        os.pwrite(fd, b"x", 0)
        os.close(fd)

    class Slow:
        def before(self, call: Call) -> None:
            pass

        def after(self, call: Call, count: int) -> None:
            if call.kind == "create":
                other.start()
                other.join(0.2)
            told.append(call.kind)

    other = threading.Thread(target=write)
    with watch(tmp_path, [Slow()]):
        os.close(os.open(path, os.O_CREAT | os.O_RDWR))
        other.join()
    assert told == ["create", "write"]


def test_half_an_entry_does_not_count(tmp_path: Path) -> None:
    root, journal = tmp_path / "root", tmp_path / "journal"
    root.mkdir()
    with closing(Recorder(journal, root)) as recorder, watch(root, [recorder]):
        (root / "d").mkdir()
        (root / "e").mkdir()
    whole = journal.read_bytes()
    assert [each.path for each in entries_of(journal)] == ["d", "e"]
    for size_bytes in range(len(whole) // 2, len(whole)):
        journal.write_bytes(whole[:size_bytes])
        assert [each.path for each in entries_of(journal)] == ["d"]


def test_files_do_not_move_between_directories(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    disk.replay([entry("mkdir", "d"), entry("create", "a")])
    with pytest.raises(AssertionError, match="moves"):
        disk.replay([entry("rename", "a", "d/a")])
