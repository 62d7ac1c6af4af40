from pathlib import Path

import pytest

from broker_lite.commands.configs.changes import changes_of
from broker_lite.errors import SettingsError


@pytest.mark.parametrize(
    ("added", "deleted", "changes"),
    [
        ("a=1", None, {"a": "1"}),
        ("a = 1 , b=2,", None, {"a": "1", "b": "2"}),
        ("a=[1,2],b=3", None, {"a": "1,2", "b": "3"}),
        ("a=[1,2],b=[3,4]", None, {"a": "1,2", "b": "3,4"}),
        ("a=", None, {"a": ""}),
        ("a=b=c", None, {"a": "b=c"}),
        (None, "a, b", {"a": None, "b": None}),
        ("a=1", "b", {"a": "1", "b": None}),
    ],
)
def test_changes(added: str | None, deleted: str | None, changes: dict[str, str | None]) -> None:
    assert changes_of(added, None, deleted) == changes


def test_changes_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a=1\nb=x,y\n")
    assert changes_of("a=2", tmp_path / "file", None) == {"a": "2", "b": "x,y"}


@pytest.mark.parametrize("added", ["a", "=1", "a=1,b"])
def test_what_is_no_assignment(added: str) -> None:
    with pytest.raises(SettingsError, match="not NAME=VALUE, or NAME="):
        changes_of(added, None, None)


@pytest.mark.parametrize("text", [None, "", " , "])
def test_nothing_to_change(text: str | None) -> None:
    with pytest.raises(SettingsError, match="--alter needs"):
        changes_of(text, None, text)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="none: No such file or directory"):
        changes_of(None, tmp_path / "none", None)
    (tmp_path / "data").write_bytes(b"\xff")
    with pytest.raises(SettingsError, match="data: is not text"):
        changes_of(None, tmp_path / "data", None)
