"""Values of records for performance tests."""

from itertools import islice
from pathlib import Path

import pytest

from broker_lite.commands.perf.payloads import numbers, picked_from, random_letters, read_values
from broker_lite.errors import SettingsError


def test_random_letters_are_the_same_in_each_run() -> None:
    first = list(islice(random_letters(50), 100))
    assert first == list(islice(random_letters(50), 100))
    assert len(set(first)) == 100
    assert {len(value) for value in first} == {50}
    assert set(b"".join(first)) == set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")


def test_numbers() -> None:
    assert list(islice(numbers(), 3)) == [b"0", b"1", b"2"]


def test_values_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "values"
    path.write_text("a\nb\n\nccc")
    assert read_values(path, "\n") == [b"a", b"b", b"", b"ccc"]
    path.write_text("a;b;")
    assert read_values(path, ";") == [b"a", b"b"]
    assert set(islice(picked_from([b"a", b"b"]), 50)) == {b"a", b"b"}


def test_what_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "values"
    with pytest.raises(SettingsError, match="No such file or directory"):
        read_values(path, "\n")
    path.write_bytes(b"")
    with pytest.raises(SettingsError, match=r"File does not exist or empty file provided\."):
        read_values(path, "\n")
    path.write_bytes(b"\xff")
    with pytest.raises(SettingsError, match="is not UTF-8"):
        read_values(path, "\n")
