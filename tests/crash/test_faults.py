"""A fault happens where, when and how it was asked for."""

import errno
import os
from pathlib import Path

import pytest

from tests.crash.calls import watch
from tests.crash.faults import Fault, FaultObserver


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("roll.create.log:2", Fault("roll.create.log", 2, False, "kill", "")),
        ("append.*:1+:ENOSPC", Fault("append.*", 1, True, "ENOSPC", "")),
        ("flush.sync.log:3:EIO:t-0/", Fault("flush.sync.log", 3, False, "EIO", "t-0/")),
        ("append.write.log:10:kill-after", Fault("append.write.log", 10, False, "kill-after", "")),
    ],
)
def test_a_fault_is_read(text: str, fault: Fault) -> None:
    assert Fault.parse(text) == fault


@pytest.mark.parametrize("text", ["", "roll.create.log", "a.b.c:0", "a.b.c:1:burn", "a.b.c:x"])
def test_what_is_no_fault_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="NAME:N"):
        Fault.parse(text)


def write(path: Path, data: bytes) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        return os.pwrite(descriptor, data, 0)
    finally:
        os.close(descriptor)


def test_a_write_fails_at_its_passing_and_only_there(tmp_path: Path) -> None:
    observer = FaultObserver(Fault.parse("other.write.b:2:ENOSPC"))
    with watch(tmp_path, [observer]):
        assert write(tmp_path / "a", b"1234") == 4
        assert write(tmp_path / "b", b"1234") == 4
        with pytest.raises(OSError, match="No space") as caught:
            write(tmp_path / "b", b"5678")
        assert write(tmp_path / "b", b"9") == 1
    assert (caught.value.errno, observer.passed) == (errno.ENOSPC, 3)
    assert (tmp_path / "b").read_bytes() == b"9234"


def test_a_fault_may_last_and_be_of_one_file(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    observer = FaultObserver(Fault.parse("other.create.*:2+:EIO:orders-0/"))
    with watch(tmp_path, [observer]):
        write(tmp_path / "a", b"")
        write(tmp_path / "orders-0" / "a", b"")
        for name in ("b", "c"):
            with pytest.raises(OSError, match="Input/output"):
                write(tmp_path / "orders-0" / name, b"")
    assert sorted(path.name for path in (tmp_path / "orders-0").iterdir()) == ["a"]


def test_a_short_write_tells_how_much_it_wrote(tmp_path: Path) -> None:
    with watch(tmp_path, [FaultObserver(Fault.parse("other.write.a:1:short"))]):
        assert write(tmp_path / "a", b"12345678") == 4
    assert (tmp_path / "a").read_bytes() == b"1234"
