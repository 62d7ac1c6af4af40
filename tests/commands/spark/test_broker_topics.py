"""P-102, S-76, S-96: topics made in a data directory whose broker does not run."""

from pathlib import Path

import pytest

from broker_lite.commands.spark.broker_topics import make_topics
from broker_lite.errors import SettingsError
from broker_lite.log.directory.data_directory import DirectoryLock
from broker_lite.log.directory.partitions import stored_topic_id
from tests.commands.log.test_transfer import opened

FOREVER = {"retention.ms": "-1"}


def test_s96_a_new_directory_has_topics_ids_and_configs(tmp_path: Path) -> None:
    data_dir = tmp_path / "new" / "data"
    assert make_topics(data_dir, {"orders": 2, "other": 1}, FOREVER) == ["orders", "other"]
    assert (data_dir / ".kafka_cleanshutdown").exists()
    cluster = opened(data_dir)
    topic = cluster.topics["orders"]
    assert (topic.partition_count, dict(topic.overrides)) == (2, FOREVER)
    for partition in range(2):
        assert stored_topic_id(str(data_dir / f"orders-{partition}")) == topic.topic_id
    cluster.close()
    assert not list(data_dir.glob("*-stray"))


def test_s96_a_stopped_broker_gets_the_topics_that_it_lacks(tmp_path: Path) -> None:
    assert make_topics(tmp_path, {"orders": 2}, FOREVER, node_id=7) == ["orders"]
    assert make_topics(tmp_path, {"orders": 2, "more": 1}, {}) == ["more"]
    assert make_topics(tmp_path, {"orders": 1}, {}, node_id=7) == []


@pytest.mark.parametrize(
    ("partition_counts", "configs", "node_id", "text"),
    [
        ({"orders": 3}, {}, None, "orders has 2 partitions, 3 are wanted"),
        ({"a/b": 1}, {}, None, "topic a/b: "),
        ({"new": 1}, {"segment.bytes": "7"}, None, "topic fresh: Invalid value 7"),
        ({"new": 1}, {}, 2, "belongs to node 1"),
    ],
)
def test_what_cannot_be_made_is_one_line_and_changes_nothing(
    tmp_path: Path,
    partition_counts: dict[str, int],
    configs: dict[str, str],
    node_id: int | None,
    text: str,
) -> None:
    make_topics(tmp_path, {"orders": 2}, FOREVER)
    with pytest.raises(SettingsError, match=text) as caught:
        make_topics(tmp_path, {"fresh": 1, **partition_counts}, configs, node_id)
    assert "\n" not in str(caught.value)
    cluster = opened(tmp_path)
    assert list(cluster.topics) == ["orders"]
    cluster.close()


def test_s78_a_running_broker_s_directory_is_left_alone(tmp_path: Path) -> None:
    make_topics(tmp_path, {"orders": 2}, FOREVER)
    lock = DirectoryLock(tmp_path)
    with pytest.raises(SettingsError, match="in use"):
        make_topics(tmp_path, {"more": 1}, FOREVER)
    lock.release()


def test_s44_logs_of_nobody_are_not_set_aside(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="log import"):
        make_topics(tmp_path, {"more": 1}, FOREVER)
    assert (tmp_path / "orders-0").is_dir()
