import logging
from pathlib import Path

import pytest

from broker_lite.errors import KafkaStorageError
from broker_lite.seed.marker import SEED_MARKER_FILE, Marker, undo_unfinished_seed
from tests.seed.seeding import Seeding


def test_names_are_kept(tmp_path: Path) -> None:
    marker = Marker(tmp_path)
    assert marker.topics() == []
    marker.add("a")
    marker.add("b")
    assert Marker(tmp_path).topics() == ["a", "b"]
    marker.remove()
    marker.remove()
    assert marker.topics() == []


def test_a_name_that_is_cut_off_does_not_count(tmp_path: Path) -> None:
    (tmp_path / SEED_MARKER_FILE).write_text("a\nlong-na")
    assert Marker(tmp_path).topics() == ["a"]


def test_a_damaged_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / SEED_MARKER_FILE).write_bytes(b"\xff\n")
    with pytest.raises(KafkaStorageError, match=f"{SEED_MARKER_FILE}: it is damaged"):
        Marker(tmp_path).topics()


def test_a_disk_that_fails_is_told(tmp_path: Path) -> None:
    (tmp_path / SEED_MARKER_FILE).mkdir()
    marker = Marker(tmp_path)
    for call in (marker.topics, lambda: marker.add("a"), marker.remove):
        with pytest.raises(KafkaStorageError, match=f"{SEED_MARKER_FILE}: "):
            call()


def test_topics_of_an_unfinished_seed_are_emptied(
    seeding: Seeding, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = seeding.cluster
    marker = Marker(cluster.logs.data_dir)
    old = cluster.create_topic("a")
    for name in ("a", "gone", "a"):
        marker.add(name)
    with caplog.at_level(logging.INFO, "broker_lite.seed"):
        undo_unfinished_seed(cluster, marker)
    new = cluster.topics["a"]
    assert new.topic_id != old.topic_id
    assert (new.partition_count, new.overrides) == (old.partition_count, old.overrides)
    assert marker.topics() == []
    assert [one.getMessage() for one in caplog.records] == ["unfinished seed undone topics=a"]


def test_without_one_nothing_happens(seeding: Seeding) -> None:
    topic = seeding.cluster.create_topic("a")
    undo_unfinished_seed(seeding.cluster, Marker(seeding.cluster.logs.data_dir))
    assert seeding.cluster.topics["a"] is topic
