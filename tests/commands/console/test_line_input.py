import os
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.commands.console.line_input import LineInput
from broker_lite.errors import SettingsError


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """The descriptors to read from and to write to."""
    reader, writer = os.pipe()
    yield reader, writer
    os.close(reader)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.close(writer)  # each test ends its input


def read_all(lines: LineInput) -> list[bytes]:
    found: list[bytes] = []
    while not lines.ended:
        found += lines.read() or ()
    return found


def test_lines_come_as_they_are_written(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    lines = LineInput(reader)
    os.write(writer, b"one\ntw")
    assert lines.read() == [b"one"]
    assert lines.read(0.001) is None
    os.write(writer, b"o\n\nthree")
    assert lines.read(10) == [b"two", b""]
    os.close(writer)
    assert not lines.ended
    assert lines.read() == [b"three"]
    assert lines.ended


@settings(max_examples=60)
@given(st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\r\n", b"bc"]), max_size=12), st.data())
def test_lines_end_as_for_java_whatever_the_chunks(parts: list[bytes], data: st.DataObject) -> None:
    text = b"".join(parts)
    cut = data.draw(st.integers(0, len(text)))
    reader, writer = os.pipe()
    try:
        lines = LineInput(reader)
        found: list[bytes] = []
        for chunk in filter(None, (text[:cut], text[cut:])):
            os.write(writer, chunk)
            found += lines.read() or ()
        os.close(writer)
        assert found + read_all(lines) == text.splitlines()
    finally:
        os.close(reader)


def test_a_line_without_end(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    os.write(writer, b"0123456789a")
    os.close(writer)
    with pytest.raises(SettingsError, match="a line is longer than 10 bytes"):
        LineInput(reader, line_bytes_max=10).read()


def test_what_cannot_be_read() -> None:
    descriptor = os.open("/", os.O_RDONLY)
    try:
        with pytest.raises(SettingsError, match="standard input: Is a directory"):
            LineInput(descriptor).read()
    finally:
        os.close(descriptor)
