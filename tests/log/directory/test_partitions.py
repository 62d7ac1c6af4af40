"""S-02, S-75: whose a partition's directory is, and what cannot be made or read."""

import logging
from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.config import LogConfig
from broker_lite.log.directory.partitions import (
    Partition,
    find_partitions,
    is_unwritten,
    make_directory,
    set_aside,
    stored_topic_id,
    write_checkpoints,
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


@pytest.mark.parametrize(
    ("name", "is_clean", "text", "reason"),
    [
        ("recovery-point-offset-checkpoint", True, None, "it is missing"),
        ("log-start-offset-checkpoint", True, None, "it is missing"),
        ("log-start-offset-checkpoint", False, None, "it is missing"),
        ("log-start-offset-checkpoint", True, "", "it is empty"),
        ("replication-offset-checkpoint", True, "", "it is empty"),
        ("replication-offset-checkpoint", True, None, None),  # nothing depends on it
        ("recovery-point-offset-checkpoint", False, None, None),  # a crash may come before it
    ],
)
def test_s70_lost_offsets_are_told(
    tmp_path: Path,
    name: str,
    is_clean: bool,
    text: str | None,
    reason: str | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "t-0").mkdir()
    for each in ("recovery-point", "log-start", "replication"):
        (tmp_path / f"{each}-offset-checkpoint").write_text("0\n1\nt 0 3\n")
    (tmp_path / name).unlink()
    if text is not None:
        (tmp_path / name).write_text(text)
    assert list(find_partitions(tmp_path, LogConfig(), is_clean).partitions) == [("t", 0)]
    told = f"checkpoint ignored path={tmp_path / name} reason={reason}"
    assert caplog.messages == ([told] if reason else [])


def test_s70_without_checkpoints_all_is_recovered_from_the_beginning(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    found = find_partitions(tmp_path, LogConfig(), is_clean=False).partitions["t", 0]
    assert (found.recovery_point, found.high_watermark) == (0, 0)
    assert (found.log_start_offset, found.is_new, found.is_claimed) == (None, False, False)


def test_s70_a_directory_without_partitions_lacks_no_offsets(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert find_partitions(tmp_path, LogConfig(), is_clean=True).partitions == {}
    assert caplog.messages == []


@pytest.mark.parametrize("is_clean", [True, False])
def test_s44_a_stop_that_was_not_clean_is_told(
    tmp_path: Path, is_clean: bool, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "t-0").mkdir()
    with caplog.at_level(logging.INFO, "broker_lite.log"):
        find_partitions(tmp_path, LogConfig(), is_clean)
    assert any(line.startswith("last stop was not clean") for line in caplog.messages) != is_clean


def test_s40_a_checkpoint_that_says_that_nothing_was_written_is_not_believed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Consumers read an empty log, and only the first append found the records."""
    directory = tmp_path / "t-0"
    entry = Partition(LogConfig())
    entry.is_new = True
    assert is_unwritten(entry, str(directory))
    make_directory(str(directory), ID)
    assert is_unwritten(entry, str(directory))
    assert caplog.messages == []
    (directory / f"{0:020}.log").write_bytes(b"x")
    assert not is_unwritten(entry, str(directory))
    assert not entry.is_new
    assert caplog.messages == [f"holds records that no checkpoint knows of directory={directory}"]
    entry.is_new = True
    with pytest.raises(errors.KafkaStorageError):
        is_unwritten(entry, str(directory / f"{0:020}.log"))


def test_s33_a_log_that_was_never_loaded_is_not_said_to_be_empty(tmp_path: Path) -> None:
    """It may have records although nothing is known of them: its next start looks."""
    unread, new, known = (Partition(LogConfig()) for _ in range(3))
    new.is_new = True
    known.recovery_point = 7
    write_checkpoints(tmp_path, {("u", 0): unread, ("n", 0): new, ("k", 0): known})
    points = (tmp_path / "recovery-point-offset-checkpoint").read_text()
    assert points == "0\n2\nn 0 0\nk 0 7\n"
