import os
from collections.abc import Callable
from pathlib import Path

import pytest

from broker_lite.errors import SettingsError
from broker_lite.seed.lines import Lines

WriteFile = Callable[[str, str | bytes], str]


def test_lines_with_their_numbers(write_file: WriteFile) -> None:
    lines = Lines(write_file("a", b"\xef\xbb\xbfa\r\n\n\xc3\xa9"))
    seen = [(text, lines.number, lines.bytes_read) for text in lines]
    assert seen == [("a\r\n", 1, 6), ("\n", 2, 7), ("é", 3, 9)]
    assert lines.size_bytes == 9


def test_an_empty_file(write_file: WriteFile) -> None:
    assert list(Lines(write_file("a", ""))) == []


def test_an_error_names_the_line(write_file: WriteFile) -> None:
    lines = Lines(write_file("a", "a\nb\n"))
    assert list(lines)
    assert str(lines.error("why")) == f"{lines.path}:2: why"
    assert str(lines.error("why", 1)) == f"{lines.path}:1: why"


def test_bad_text_is_told(write_file: WriteFile) -> None:
    lines = Lines(write_file("a", b"ok\nab\xff\n"))
    with pytest.raises(SettingsError, match=r"a:2: not UTF-8 text, at byte 3 of the line"):
        list(lines)


def test_a_line_has_a_limit(write_file: WriteFile) -> None:
    assert list(Lines(write_file("a", "abc\nabc\n"), line_bytes_max=4)) == ["abc\n", "abc\n"]
    with pytest.raises(SettingsError, match=r"b:2: the line is longer than 4 bytes"):
        list(Lines(write_file("b", "abc\nabcd\n"), line_bytes_max=4))


@pytest.mark.parametrize(
    ("path", "reason"), [("/nosuch.csv", "No such file or directory"), ("/", "Is a directory")]
)
def test_files_that_cannot_be_read(path: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=f"^{path}: cannot be read: {reason}$"):
        list(Lines(path))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    with pytest.raises(
        SettingsError, match=r"pipe\.csv: cannot be read: it is a pipe, not a file$"
    ):
        list(Lines(str(path)))
