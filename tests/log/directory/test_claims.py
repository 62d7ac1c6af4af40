"""S-75, S-44: directories of another topic id, of none, and of partitions that nobody knows."""

from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.directory.chores import Chores
from broker_lite.log.directory.claims import Claims, DirectoryOfAnotherTopic
from broker_lite.log.directory.offline import OfflinePartitions
from broker_lite.log.directory.partitions import make_directory, stored_topic_id
from broker_lite.log.files.checkpoints import format_uuid

ID = bytes(range(1, 17))
OTHER_ID = bytes(range(2, 18))
KEY = ("t", 0)


class Room:
    """Claims of a directory, with those whom they ask and tell."""

    def __init__(self, data_dir: Path) -> None:
        self.chores = Chores(data_dir)
        self.offline = OfflinePartitions({})
        self.claims = Claims(data_dir, self.chores, self.offline)


def filled(path: Path, topic_id: bytes) -> Path:
    make_directory(str(path), topic_id)
    (path / "00000000000000000000.log").write_bytes(b"batch")
    return path


def test_s75_a_directory_of_an_unknown_id_is_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One line says both ids and what helps, however often the partition is asked for."""
    directory = filled(tmp_path / "t-0", OTHER_ID)
    room = Room(tmp_path)
    for _ in range(2):
        with pytest.raises(DirectoryOfAnotherTopic):
            room.claims.take(*KEY, ID)
    assert KEY in room.offline
    assert stored_topic_id(str(directory)) == OTHER_ID
    assert [each.name for each in tmp_path.iterdir()] == ["t-0"]
    (line,) = caplog.messages
    for word in ("t-0", format_uuid(ID), format_uuid(OTHER_ID), "log repair --topic-ids"):
        assert word in line


def test_s75_a_directory_that_a_deleted_topic_left_is_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    filled(tmp_path / "t-0", OTHER_ID)
    room = Room(tmp_path)
    room.chores.deleted_ids = {OTHER_ID}
    assert not room.claims.take(*KEY, ID)
    (aside,) = tmp_path.glob("*-stray")
    assert stored_topic_id(str(aside)) == OTHER_ID
    assert str(aside) in caplog.text
    assert room.claims.take(*KEY, ID)
    assert KEY not in room.offline
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("has_records", [False, True])
def test_s75_a_missing_id_is_written_and_told_where_there_are_records(
    tmp_path: Path, has_records: bool, caplog: pytest.LogCaptureFixture
) -> None:
    directory = tmp_path / "t-0"
    if has_records:
        (filled(directory, ID) / "partition.metadata").unlink()
    assert Room(tmp_path).claims.take(*KEY, ID)
    assert stored_topic_id(str(directory)) == ID
    assert ("made anew" in caplog.text) is has_records


def test_s75_a_file_in_the_place_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "t-0").touch()
    with pytest.raises(errors.KafkaStorageError):
        Room(tmp_path).claims.take(*KEY, ID)


@pytest.mark.parametrize("count", [0, 2, 12])
def test_s44_strays_are_told_in_one_line(
    tmp_path: Path, count: int, caplog: pytest.LogCaptureFixture
) -> None:
    keys = [("t", number) for number in range(count)]
    for _, number in keys:
        make_directory(str(tmp_path / f"t-{number}"), ID)
    Room(tmp_path).claims.put_aside(keys)
    assert len(list(tmp_path.glob("t-*-stray"))) == count
    assert len(caplog.messages) == bool(count)
    if count:
        assert f"count={count}" in caplog.text
        assert ("..." in caplog.text) is (count > 10)
