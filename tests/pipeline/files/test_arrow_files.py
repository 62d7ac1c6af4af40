"""What is Arrow's own; what all storages have in common is in test_file_io.py."""

import pytest
from pyarrow import fs

from broker_lite.pipeline.files.arrow_files import ArrowFileIO, open_arrow
from broker_lite.pipeline.files.open_file_io import open_file_io


def test_arrow_is_asked_first():
    io, path = open_file_io("mock:///a/b")
    assert isinstance(io, ArrowFileIO)
    assert path == "a/b"


def test_what_arrow_does_not_know():
    assert open_arrow("memory://a") is None


def test_a_range_behind_the_end_is_not_asked_for(tmp_path):
    """An object store would refuse it."""
    (tmp_path / "file").write_bytes(b"abc")
    with ArrowFileIO(fs.LocalFileSystem()).open(str(tmp_path / "file")) as file:
        assert file.read_at(3, 1) == b""
        assert file.read_at(2, 9) == b"c"


def test_a_directory_has_no_size(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        ArrowFileIO(fs.LocalFileSystem()).size(str(tmp_path))
