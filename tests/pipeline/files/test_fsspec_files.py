"""What is fsspec's own; what all storages have in common is in test_file_io.py."""

import pytest
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem
from fsspec.registry import known_implementations

from broker_lite.pipeline.files.file_io import UnknownFileSystem
from broker_lite.pipeline.files.fsspec_files import FsspecFileIO, open_fsspec
from broker_lite.pipeline.files.open_file_io import open_file_io


class _RememberingFileSystem(LocalFileSystem):
    """Gives a listing once more until it is told to forget it, as those of object stores do."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.listings: dict[str, object] = {}

    def ls(self, path, detail=False, **options):
        return self.listings.setdefault(path, super().ls(path, detail=detail, **options))

    def invalidate_cache(self, path=None):
        self.listings.clear()


def test_fsspec_is_asked_for_what_arrow_does_not_know():
    io, path = open_file_io("memory://a/b")
    assert isinstance(io, FsspecFileIO)
    assert path == "/a/b"


def test_what_fsspec_does_not_know():
    assert open_fsspec("nowhere://a") is None


def test_a_scheme_that_fsspec_lacks_a_package_for(monkeypatch):
    monkeypatch.setitem(
        known_implementations,
        "lacking",
        {"class": "no_such_package.FileSystem", "err": "Install no_such_package"},
    )
    with pytest.raises(UnknownFileSystem, match="Install no_such_package"):
        open_fsspec("lacking://a")


def test_a_log_that_grows_is_listed_anew(tmp_path):
    io = FsspecFileIO(_RememberingFileSystem())
    (tmp_path / "a").touch()
    assert [info.name for info in io.list(str(tmp_path))] == ["a"]
    (tmp_path / "b").touch()
    assert [info.name for info in io.list(str(tmp_path))] == ["a", "b"]


def test_names_are_the_last_parts_of_paths(tmp_path):
    (tmp_path / "d" / "e").mkdir(parents=True)
    io = FsspecFileIO(DirFileSystem(str(tmp_path), LocalFileSystem()))
    assert [info.name for info in io.list("d")] == ["e"]
