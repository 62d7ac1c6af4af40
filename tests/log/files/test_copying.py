"""Copies of files, and second names."""

import errno
import os
from pathlib import Path

import pytest

from broker_lite.log.files import copying


@pytest.mark.parametrize("size_bytes", [0, 1, 64 * 1024, 3_000_000])
@pytest.mark.parametrize("can_share", [True, False])
def test_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size_bytes: int, can_share: bool
) -> None:
    if not can_share:

        def refuse(*_: object) -> int:
            raise OSError(errno.EOPNOTSUPP, "not here")

        monkeypatch.setattr(os, "copy_file_range", refuse)
        monkeypatch.setattr(os, "link", refuse)
    source = tmp_path / "source"
    source.write_bytes(os.urandom(size_bytes))
    for copy in (copying.copy_file, copying.link_or_copy):
        target = tmp_path / copy.__name__
        copy(str(source), str(target))
        assert target.read_bytes() == source.read_bytes()
    copying.unshare(str(source))
    assert source.stat().st_nlink == 1
    with pytest.raises(FileExistsError):
        copying.copy_file(str(source), str(target))
    with pytest.raises(FileNotFoundError):
        copying.link_or_copy(str(tmp_path / "none"), str(tmp_path / "other"))


def test_a_file_that_the_system_copies_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_some = os.copy_file_range
    calls: list[int] = []

    def copy(source: int, target: int, count: int, *offsets: int) -> int:
        calls.append(count)
        return 0 if len(calls) == 3 else copy_some(source, target, min(count, 70_000), *offsets)

    monkeypatch.setattr(os, "copy_file_range", copy)
    (tmp_path / "source").write_bytes(os.urandom(300_000))
    copying.copy_file(str(tmp_path / "source"), str(tmp_path / "target"))
    assert (tmp_path / "target").read_bytes() == (tmp_path / "source").read_bytes()
    assert len(calls) == 3


def test_a_file_with_one_name_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a")
    before = path.stat().st_ino
    copying.unshare(str(path))
    assert path.stat().st_ino == before


def test_a_file_with_two_names_gets_a_content_of_its_own(tmp_path: Path) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    path.write_bytes(b"a")
    os.link(path, other)
    (tmp_path / "file.unshared").write_bytes(b"left by a crash")
    copying.unshare(str(path))
    path.write_bytes(b"b")
    assert other.read_bytes() == b"a"
    assert sorted(os.listdir(tmp_path)) == ["file", "other"]
