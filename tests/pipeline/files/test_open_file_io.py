import subprocess
import sys

import pytest

from broker_lite.pipeline.files.file_io import LocalFileIO, UnknownFileSystem
from broker_lite.pipeline.files.open_file_io import open_file_io


def test_a_relative_path_is_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    io, path = open_file_io("logs")
    assert isinstance(io, LocalFileIO)
    assert path == str(tmp_path / "logs")


@pytest.mark.parametrize("uri", ["FILE:///a%20b", "file://localhost/a%20b"])
def test_a_file_uri_is_a_local_path(uri):
    assert open_file_io(uri)[1] == "/a b"


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        ("file://host/a", "path 'file://host/a': file:// takes an absolute path, file:///data"),
        (
            "nowhere://a",
            "path 'nowhere://a': no file system for nowhere://; pyarrow and fsspec are asked",
        ),
    ],
)
def test_a_uri_that_nothing_opens(uri, text):
    with pytest.raises(UnknownFileSystem) as caught:
        open_file_io(uri)
    assert str(caught.value) == text


def test_without_pyarrow_and_fsspec_only_local_files(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(UnknownFileSystem):
        open_file_io("memory://a")
    assert open_file_io("/a")[1] == "/a"


def test_a_local_path_needs_no_other_library():
    code = (
        "import sys; from broker_lite.pipeline.files import open_file_io as opening\n"
        "opening.open_file_io('/a')\n"
        "sys.exit(len({'pyarrow', 'fsspec'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
