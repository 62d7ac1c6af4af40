"""Files are read and written to the end."""

import os
from pathlib import Path

import pytest

from broker_lite.log.files.open_file import OpenFile, sync_file, write_file


def test_write_file_replaces(tmp_path: Path) -> None:
    path = str(tmp_path / "f")
    for data in (b"a longer text", b"short"):
        write_file(path, data)
        assert Path(path).read_bytes() == data
    assert os.listdir(tmp_path) == ["f"]
    sync_file(path)
    sync_file(path + "none")
    OpenFile(path).sync()


def test_a_buffer_is_filled_as_far_as_the_file_goes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    buffer = bytearray(6)
    assert OpenFile(str(path)).read_into(memoryview(buffer), 2) == 6
    assert buffer == b"234567"
    assert OpenFile(str(path)).read_into(memoryview(buffer), 7) == 3
    assert buffer[:3] == b"789"


def test_the_last_reference_closes_the_descriptor_and_then_tells(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    file = OpenFile(str(path))
    other, descriptor = file, Path(f"/proc/self/fd/{file.fd}")
    told: list[bool] = []
    file.on_close = lambda: told.append(descriptor.exists())
    del file
    assert (told, descriptor.exists()) == ([], True)
    del other
    assert told == [False]


def test_descriptor_0_is_closed_too(tmp_path: Path) -> None:
    """A broker that was started without a standard input opens its first file as 0."""
    path = tmp_path / "file"
    path.touch()
    standard_input = os.dup(0)
    os.close(0)
    try:
        file = OpenFile(str(path))
        assert file.fd == 0
        del file
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(0)
    finally:
        os.dup2(standard_input, 0)
        os.close(standard_input)
