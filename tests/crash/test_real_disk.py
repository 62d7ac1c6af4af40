"""A file system that is shut down keeps what was synced, and only that."""

import os
from pathlib import Path

import pytest

from tests.crash.real_disk import NotPossible, RealDisk
from tests.support.toolchain import lacking


def written(path: Path, data: bytes, *, is_synced: bool) -> None:
    fd = os.open(path, os.O_CREAT | os.O_RDWR)
    os.write(fd, data)
    if is_synced:
        os.fsync(fd)
    os.close(fd)


def test_what_was_not_synced_is_gone_after_the_power(tmp_path: Path) -> None:
    try:
        with RealDisk(tmp_path / "disk") as disk:
            written(disk.root / "sure", b"1" * 10_000, is_synced=True)
            written(disk.root / "not-sure", b"2" * 10_000, is_synced=False)
            disk.shut_down()
            with pytest.raises(OSError, match="Input/output error"):
                written(disk.root / "late", b"3", is_synced=True)
            disk.turn_on()
            assert (disk.root / "sure").read_bytes() == b"1" * 10_000
            assert not (disk.root / "late").exists()
            assert not (disk.root / "not-sure").exists()
    except NotPossible as error:
        lacking(f"an ext4 on a loop device ({error})")
    assert not os.path.ismount(disk.root)


def test_a_file_system_that_nobody_can_make_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotPossible, match="no program"), RealDisk(tmp_path / "disk", "none"):
        pass
