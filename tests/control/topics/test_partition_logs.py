from pathlib import Path

import pytest

from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.errors import KafkaStorageError
from tests.control.conftest import OpenCluster


def test_a_directory_that_cannot_be_made_is_made_later(
    open_cluster: OpenCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = open_cluster()
    in_the_way = tmp_path / "data" / "t-0"
    in_the_way.write_bytes(b"")
    cluster.create_topic("t")
    assert "partition not created topic=t-0" in caplog.text
    with pytest.raises(KafkaStorageError):
        cluster.log("t", 0)
    in_the_way.unlink()
    assert cluster.log("t", 0).log_end_offset == 0


def test_p110_a_directory_that_cannot_be_removed_does_not_keep_the_topic(
    open_cluster: OpenCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = open_cluster()
    topic = cluster.create_topic("t")
    (tmp_path / "data" / "t-0").rename(tmp_path / "elsewhere")
    cluster.delete_topics([topic])
    cluster.logs.chores.work()
    assert "files of a deleted partition stay t-0" in caplog.text
    assert cluster.topics == {}


def test_deletion_of_partitions_that_were_never_made(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    topics = cluster.create_topics([cluster.plan_topic(NewTopic("t", 2, 1))])
    cluster.delete_topics(topics)
    assert cluster.topics == {}


def test_f16_a_change_of_the_mode_wakes_who_waits_and_no_other_change_does(
    open_cluster: OpenCluster,
) -> None:
    cluster = open_cluster()
    cluster.create_topic("t")
    woken: list[str] = []
    visibility = cluster.log("t", 0).visibility
    visibility.add_waiter(lambda: woken.append("t"))
    cluster.alter_configs([(2, "t", {"retention.ms": "1000"})])
    assert (woken, visibility.synthetic) == ([], None)
    cluster.alter_configs([(2, "t", {"broker.lite.load.mode": "synthetic"})])
    synthetic = visibility.synthetic
    assert synthetic is not None
    cluster.alter_configs([(2, "t", {"retention.ms": "2000"})])
    assert visibility.synthetic is synthetic
    assert woken == ["t"]
    cluster.alter_configs([(2, "t", {"broker.lite.load.mode": None})])
    assert (woken, visibility.synthetic) == (["t", "t"], None)


def test_f16_the_mode_is_there_after_a_restart(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    cluster.create_topic("t")
    cluster.alter_configs([(2, "t", {"broker.lite.load.mode": "synthetic"})])
    cluster.close(sync=False)
    found = open_cluster().log("t", 0).visibility.synthetic
    assert found is not None
    assert found.end_offset == 1 << 62
