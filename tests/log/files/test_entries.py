"""R-04: the whole entries of a file, with their bytes, up to the first that is none."""

import struct
from pathlib import Path

import pytest

from broker_lite.errors import CorruptMessage
from broker_lite.log.files.entries import BUFFER_BYTES, Window
from broker_lite.log.files.open_file import OpenFile
from tests.log.batches import batch, records

ONE = batch(records(1))


def entry(length: int, magic: int, size_bytes: int = 0) -> bytes:
    return struct.pack(">qiib", 0, length, 0, magic).ljust(size_bytes or length + 12, b"\0")


class Reading:
    """A file that is read from a position to an end; what was read is counted."""

    def __init__(self, directory: Path, content: bytes, position: int, end: int) -> None:
        path = directory / "x.log"
        path.write_bytes(content)
        self.reads: list[int] = []
        self.window = Window(OpenFile(str(path)), position, end, self.reads.append)

    def found(self) -> list[tuple[int, bytes]]:
        buffer = self.window
        return [
            (position, bytes(buffer.buffer[start : start + size_bytes]))
            for position, size_bytes, start in buffer.entries()
        ]


def read(directory: Path, content: bytes, end: int | None = None, position: int = 0) -> list[bytes]:
    end = len(content) if end is None else end
    return [data for _, data in Reading(directory, content, position, end).found()]


def test_r04_entries_follow_each_other(tmp_path: Path) -> None:
    content = b"front" + ONE + entry(22, 1) + ONE
    reading = Reading(tmp_path, content, 5, len(content))
    assert reading.found() == [
        (5, ONE),
        (5 + len(ONE), entry(22, 1)),
        (5 + len(ONE) + 34, ONE),
    ]
    assert reading.reads == [len(content) - 5]


def test_r04_no_upper_magic(tmp_path: Path) -> None:
    assert read(tmp_path, entry(58, 3), 1000) == [entry(58, 3)]


@pytest.mark.parametrize("end", [0, 5, 21, 22])
def test_r04_the_end_is_seen_17_bytes_early(tmp_path: Path, end: int) -> None:
    assert read(tmp_path, bytes(5) + entry(5, 2), end, position=5) == []


def test_r04_a_partial_entry(tmp_path: Path) -> None:
    assert read(tmp_path, ONE, len(ONE) - 1) == []
    assert read(tmp_path, entry(0x7FFFFFFF, 2, 17), 1000) == []


def test_r04_nothing_is_read_for_an_entry_that_ends_behind_the_end(tmp_path: Path) -> None:
    """A damaged length would ask for up to 2 GB of memory."""
    content = ONE * 3 + ONE[:-1]
    reading = Reading(tmp_path, content, 0, len(content))
    assert len(reading.found()) == 3
    assert reading.reads == [len(content)]


@pytest.mark.parametrize("left", [0, 16, 17, 60])
def test_r04_a_file_that_was_cut_meanwhile(tmp_path: Path, left: int) -> None:
    assert read(tmp_path, ONE + ONE[:left], 2 * len(ONE)) == [ONE]


def test_r04_a_length_below_the_minimum(tmp_path: Path) -> None:
    entries = Reading(tmp_path, ONE + entry(13, 2, 70), 0, 1000).window.entries()
    assert next(entries) == (0, len(ONE), 0)
    with pytest.raises(CorruptMessage, match=rf"size 13 .* \(14\) at position {len(ONE)}\."):
        next(entries)


def test_an_entry_larger_than_the_buffer(tmp_path: Path) -> None:
    large = entry(BUFFER_BYTES, 2)
    assert read(tmp_path, ONE + large + ONE) == [ONE, large, ONE]
