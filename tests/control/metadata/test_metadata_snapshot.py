"""The metadata of a directory that Kafka wrote, whose log begins with a snapshot.

S-97: what is taken over from Kafka.
"""

from pathlib import Path

import pytest

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.metadata.metadata_log import PARTITION_DIRECTORY
from broker_lite.control.metadata.metadata_snapshot import newest_snapshot
from broker_lite.errors import KafkaStorageError
from broker_lite.settings import Settings
from tests.support.packed_files import unpack

KAFKAS = Path(__file__).parent / "data" / "metadata_snapshot.json"
"""The snapshot at offset 54 of a Kafka 4.3.1."""
NAME = f"{54:020d}-{1:010d}.checkpoint"


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A directory with the snapshot alone."""
    unpack(KAFKAS, tmp_path / PARTITION_DIRECTORY)
    return tmp_path


def opened(data_dir: Path) -> Cluster:
    return Cluster.open(Settings(), data_dir, Clock.standing_still())


def test_s97_a_log_of_which_only_the_snapshot_is_left_goes_on_from_it(data_dir: Path) -> None:
    cluster = opened(data_dir)
    assert {name: topic.partition_count for name, topic in cluster.topics.items()} == {
        "orders": 2,
        "latest": 2,
        "__consumer_offsets": 4,
        "__transaction_state": 4,
    }
    assert cluster.topics["orders"].overrides == {
        "segment.ms": "86400000",
        "retention.ms": "172800000",
    }
    assert cluster.next_producer_id() >= 1000
    cluster.close()
    log = data_dir / PARTITION_DIRECTORY / f"{54:020d}.log"
    # the epoch of the leader is one above that of the snapshot
    assert log.read_bytes()[:16] == bytes([*bytes(7), 54, 0, 0, 0, 79, 0, 0, 0, 2])
    again = opened(data_dir)
    assert again.topics.keys() == cluster.topics.keys()
    again.create_topic("new")
    again.close()
    third = opened(data_dir)
    assert "new" in third.topics
    third.close()


def test_s97_the_newest_whole_snapshot_counts(
    data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory = data_dir / PARTITION_DIRECTORY
    data = (directory / NAME).read_bytes()
    good = newest_snapshot(directory)
    assert good is not None
    assert (good.end_offset, good.epoch) == (54, 1)
    newer = directory / f"{60:020d}-{1:010d}.checkpoint"
    for size_bytes in range(0, len(data), 101):
        newer.write_bytes(data[:size_bytes])
        assert newest_snapshot(directory) == good
    assert "metadata snapshot skipped" in caplog.text
    newer.write_bytes(data)
    assert newest_snapshot(directory) == good._replace(end_offset=60)


def test_s97_no_byte_of_a_snapshot_can_be_another_unseen(data_dir: Path) -> None:
    directory = data_dir / PARTITION_DIRECTORY
    path = directory / NAME
    data = path.read_bytes()
    good = newest_snapshot(directory)
    for position in range(0, len(data), 31):
        path.write_bytes(data[:position] + bytes([data[position] ^ 0x55]) + data[position + 1 :])
        # the offset and the epoch of a batch lie outside its checksum, and say nothing here
        assert newest_snapshot(directory) in (None, good)


def test_s97_the_snapshot_of_a_new_directory_says_nothing_of_topics(data_dir: Path) -> None:
    directory = data_dir / PARTITION_DIRECTORY
    (directory / NAME).rename(directory / f"{0:020d}-{0:010d}.checkpoint")
    (directory / "another file").touch()
    assert newest_snapshot(directory) is None


def test_a_log_whose_snapshot_is_missing_is_refused(data_dir: Path) -> None:
    cluster = opened(data_dir)
    cluster.close()
    (data_dir / PARTITION_DIRECTORY / NAME).unlink()
    with pytest.raises(KafkaStorageError, match="a snapshot that is missing"):
        opened(data_dir)


def test_a_snapshot_that_cannot_be_read_ends_the_start(data_dir: Path) -> None:
    (data_dir / PARTITION_DIRECTORY / NAME).unlink()
    (data_dir / PARTITION_DIRECTORY / NAME).mkdir()
    with pytest.raises(KafkaStorageError):
        opened(data_dir)
