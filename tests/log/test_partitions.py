"""S-02, S-75: whose a partition's directory is, and what cannot be made or read."""

from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.partitions import (
    make_directory,
    set_aside,
    stored_topic_id,
)

ID = bytes(range(1, 17))
OTHER_ID = bytes(range(2, 18))
ID_FILE = "partition.metadata"


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


@pytest.mark.parametrize("is_there", [False, True])
def test_s75_a_directory_is_made_or_taken_as_it_is(tmp_path: Path, is_there: bool) -> None:
    """An id that is there is replaced, not overwritten, for a crash in between; the rest stays."""
    directory, old = tmp_path / "t-0", tmp_path / "old"
    if is_there:
        directory.mkdir()
        (directory / ID_FILE).write_bytes(b"x" * 999)
        (directory / "other").touch()
        old.hardlink_to(directory / ID_FILE)
    make_directory(str(directory), ID)
    assert (directory / ID_FILE).read_bytes() == b"version: 0\ntopic_id: AQIDBAUGBwgJCgsMDQ4PEA"
    assert names(directory) == (["other", ID_FILE] if is_there else [ID_FILE])
    assert stored_topic_id(str(directory)) == ID
    assert not is_there or old.read_bytes() == b"x" * 999


@pytest.mark.parametrize("obstacle", ["a file of its name", "no parent"])
def test_s75_a_directory_that_cannot_be_made(tmp_path: Path, obstacle: str) -> None:
    directory = tmp_path / "parent" / "t-0"
    if obstacle == "a file of its name":
        directory.parent.mkdir()
        directory.touch()
    with pytest.raises(errors.KafkaStorageError):
        make_directory(str(directory), ID)


@pytest.mark.parametrize("data", [b"", b"version: 1\n", b"version: 0\ntopic_id: !", b"\xff"])
def test_s75_an_id_that_makes_no_sense_is_as_none(
    tmp_path: Path, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    directory = tmp_path / "t-0"
    assert stored_topic_id(str(directory)) is None
    assert caplog.text == ""
    directory.mkdir()
    (directory / ID_FILE).write_bytes(data)
    assert stored_topic_id(str(directory)) is None
    assert "partition.metadata ignored" in caplog.text


def test_s02_a_directory_that_is_gone_cannot_be_renamed(tmp_path: Path) -> None:
    with pytest.raises(errors.KafkaStorageError):
        set_aside(tmp_path, "t", 0, "-delete")
