"""Files are read and written to the end."""

import os
from pathlib import Path

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
