"""The calls of the disk are those of the operating system, unless they are replaced."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.log.files import disk_calls
from broker_lite.log.files.open_file import CREATE, OpenFile


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    yield
    disk_calls.give_back()


def test_files_use_what_is_put_in_place_of_the_calls(tmp_path: Path) -> None:
    called: list[str] = []

    def write(fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        called.append("pwrite")
        return os.pwrite(fd, data, position)

    disk_calls.take_over(write, lambda _: called.append("fsync"), lambda _: called.append("data"))
    file = OpenFile(str(tmp_path / "a"), CREATE)
    file.write(b"12", 0)
    file.sync()
    file.sync_data()
    assert called == ["pwrite", "fsync", "data"]
    disk_calls.give_back()
    file.write(b"3", 2)
    assert (tmp_path / "a").read_bytes() == b"123"
    assert len(called) == 3
    calls = (disk_calls.pwrite, disk_calls.fsync, disk_calls.fdatasync)
    assert calls == (os.pwrite, os.fsync, os.fdatasync)
