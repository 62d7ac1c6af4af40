import json
from pathlib import Path

import pytest

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.producer_id_blocks import PRODUCER_ID_BLOCK
from broker_lite.control.metadata.brokers import Endpoint
from broker_lite.control.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE
from broker_lite.control.topics.topic_rules import Growth, NewTopic
from broker_lite.errors import (
    InvalidTopic,
    SettingsError,
    TopicAlreadyExists,
    UnknownTopicOrPartition,
)
from broker_lite.log.log import Log
from broker_lite.log.recovery.load_watch import LoadStopped
from broker_lite.record.builder import BatchBuilder
from broker_lite.settings import Settings
from tests.control.conftest import OpenCluster

METADATA = "__cluster_metadata-0"


def batch() -> bytes:
    builder = BatchBuilder()
    builder.append(1, b"k", b"v")
    return builder.build()


def waits_at(log: Log) -> list[str]:
    woken: list[str] = []
    log.visibility.add_waiter(lambda: woken.append("woken"))
    return woken


def test_a_new_cluster_has_no_topics_and_the_features_of_a_new_cluster(
    open_cluster: OpenCluster, tmp_path: Path
) -> None:
    cluster = open_cluster()
    assert (len(cluster.cluster_id), cluster.node_id, cluster.rack_of(1)) == (22, 1, None)
    assert cluster.topics == {}
    assert cluster.features == {
        "eligible.leader.replicas.version": 1,
        "group.version": 1,
        "metadata.version": 30,
        "share.version": 1,
        "streams.version": 1,
        "transaction.version": 2,
    }
    assert cluster.features_epoch >= 0
    state = json.loads((tmp_path / "data" / METADATA / "quorum-state").read_text())
    assert (state["leaderId"], state["leaderEpoch"], state["data_version"]) == (1, 1, 0)
    assert (tmp_path / "data" / "bootstrap.checkpoint").stat().st_size > 0


@pytest.mark.parametrize("sync", [True, False])
def test_everything_is_there_after_a_restart(open_cluster: OpenCluster, sync: bool) -> None:
    first = open_cluster()
    topic = first.create_topic("t")
    first.create_partitions([first.plan_growth(Growth("t", 3))])
    first.create_topic("gone")
    first.delete_topics([first.topics["gone"]])
    first.alter_configs(
        [
            (TOPIC_RESOURCE, "t", {"retention.ms": "5", "segment.ms": "7"}),
            (TOPIC_RESOURCE, "t", {"segment.ms": None}),
            (BROKER_RESOURCE, "", {"message.max.bytes": "2000"}),
            (BROKER_RESOURCE, "1", {"message.max.bytes": "3000"}),
        ]
    )
    first.log("t", 2).append_batch(batch(), now_ms=1)
    first.close(sync=sync)
    second = open_cluster()
    assert dict(second.topics) == dict(first.topics)
    assert second.topics_by_id[topic.topic_id] is second.topics["t"]
    assert second.topics_by_id == {topic.topic_id: second.topics["t"]}
    assert second.cluster_id == first.cluster_id
    assert second.settings.message_max_bytes == 3000
    assert second.topic_config("t").retention_ms == 5
    assert second.log("t", 2).log_end_offset == 1


def test_p89_leader_epochs_stay_over_a_restart(open_cluster: OpenCluster) -> None:
    first = open_cluster()
    first.create_topic("t")
    epoch = first.leader_epoch("t", 0)
    assert first.log("t", 0).leader_epoch == epoch == 0
    first.close()
    second = open_cluster()
    assert second.leader_epoch("t", 0) == second.log("t", 0).leader_epoch == epoch


def test_a_crash_loses_nothing_that_was_answered(open_cluster: OpenCluster, tmp_path: Path) -> None:
    first = open_cluster()
    first.create_topic("t")
    # a process that died leaves its lock free and no mark of a clean stop
    first.logs.abandon()
    second = open_cluster()
    assert list(second.topics) == ["t"]


def test_s44_a_start_that_is_stopped_can_be_begun_again(
    open_cluster: OpenCluster, tmp_path: Path
) -> None:
    cluster = open_cluster()
    cluster.create_topic("t")
    cluster.log("t", 0).append_batch(batch(), now_ms=0)
    cluster.logs.abandon()
    folder = tmp_path / "data"
    with pytest.raises(LoadStopped):
        Cluster.open(Settings(), folder, Clock.standing_still(), is_stopping=lambda: True)
    again = Cluster.open(Settings(), folder, Clock.standing_still())
    assert not again.logs.was_clean
    assert again.log("t", 0).log_end_offset == 1
    again.close()


def test_s43_a_change_cut_by_a_crash_did_not_happen(
    open_cluster: OpenCluster, tmp_path: Path
) -> None:
    first = open_cluster()
    first.create_topic("before")
    size_bytes = (tmp_path / "data" / METADATA / f"{0:020d}.log").stat().st_size
    first.create_topic("cut")
    first.logs.abandon()
    with (tmp_path / "data" / METADATA / f"{0:020d}.log").open("r+b") as file:
        file.truncate(size_bytes + 100)
    second = open_cluster()
    assert list(second.topics) == ["before"]
    second.create_topic("cut")
    assert second.log("cut", 0).log_end_offset == 0


def test_p113_a_topic_created_on_demand_is_as_any_other(open_cluster: OpenCluster) -> None:
    cluster = open_cluster(num_partitions="3")
    on_demand = cluster.create_topic("a")
    (explicit,) = cluster.create_topics([cluster.plan_topic(NewTopic("b", 3, 1))])
    assert on_demand.partitions == explicit.partitions
    assert [one.leader_epoch for one in explicit.partitions] == [0, 0, 0]
    assert on_demand.topic_id != explicit.topic_id
    assert cluster.log("b", 2).log_end_offset == 0


def test_p86_a_topic_is_created_once(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    created = cluster.create_topic("a.b")
    with pytest.raises(TopicAlreadyExists):
        cluster.create_topic("a.b")
    with pytest.raises(InvalidTopic, match=r"collides with existing topic: a\.b"):
        cluster.create_topic("a_b")
    assert cluster.topics == {"a.b": created}


def test_logs_of_unknown_partitions(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    cluster.create_topic("t")
    for name, partition in (("t", 1), ("t", -1), ("u", 0)):
        with pytest.raises(UnknownTopicOrPartition):
            cluster.log(name, partition)
        with pytest.raises(UnknownTopicOrPartition):
            cluster.leader_epoch(name, partition)
    with pytest.raises(UnknownTopicOrPartition):
        cluster.topic_config("u")


def test_a_log_that_was_not_made_is_made_when_it_is_used(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    (topic,) = cluster.create_topics([cluster.plan_topic(NewTopic("t", 4, 1))])
    cluster.make_logs(topic, 0, 2)
    assert cluster.log("t", 3) is cluster.log("t", 3)


def test_make_logs_leaves_a_topic_alone_that_is_gone(
    open_cluster: OpenCluster, tmp_path: Path
) -> None:
    cluster = open_cluster()
    (topic,) = cluster.create_topics([cluster.plan_topic(NewTopic("t", 4, 1))])
    cluster.delete_topics([topic])
    cluster.make_logs(topic)
    assert not list((tmp_path / "data").glob("t-*"))


def test_p110_deletion_wakes_who_waits_and_removes_the_data(
    open_cluster: OpenCluster, tmp_path: Path
) -> None:
    cluster = open_cluster()
    old = cluster.create_topic("t")
    log = cluster.log("t", 0)
    log.append_batch(batch(), now_ms=1)
    woken = waits_at(log)
    cluster.delete_topics([old])
    assert woken
    cluster.logs.chores.work()
    assert not list((tmp_path / "data").glob("t-*"))
    with pytest.raises(UnknownTopicOrPartition):
        cluster.log("t", 0)
    new = cluster.create_topic("t")
    assert new.topic_id != old.topic_id
    assert cluster.log("t", 0).log_end_offset == 0


def test_altered_topic_configs_reach_the_log_at_once(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    cluster.create_topic("t")
    log, before = cluster.log("t", 0), cluster.validation_config(cluster.topics["t"])
    cluster.alter_configs([(TOPIC_RESOURCE, "t", {"segment.ms": "9", "max.message.bytes": "70"})])
    assert log.config.segment_ms == 9
    after = cluster.validation_config(cluster.topics["t"])
    assert (before.max_message_bytes, after.max_message_bytes) == (1048588, 70)
    assert cluster.validation_config(cluster.topics["t"]) is after


def test_p131_altered_broker_configs_reach_all_logs_at_once(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    cluster.create_topic("t")
    log = cluster.log("t", 0)
    cluster.alter_configs([(BROKER_RESOURCE, "1", {"log.roll.ms": "11"})])
    assert log.config.segment_ms == 11
    assert cluster.configs(BROKER_RESOURCE, "1") == {"log.roll.ms": "11"}


def test_configs_of_a_topic_that_is_gone_are_not_an_error(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    cluster.alter_configs([(TOPIC_RESOURCE, "t", {"segment.ms": "9"})])
    assert cluster.topics == {}


def test_t15_producer_ids_ascend_in_blocks_and_none_comes_twice(
    open_cluster: OpenCluster,
) -> None:
    first = open_cluster()
    given = [first.next_producer_id() for _ in range(PRODUCER_ID_BLOCK + 1)]
    assert given == list(range(PRODUCER_ID_BLOCK + 1))
    first.close()
    assert open_cluster().next_producer_id() == 2 * PRODUCER_ID_BLOCK


def test_a_broker_registers_its_listeners(open_cluster: OpenCluster) -> None:
    cluster = open_cluster(broker_rack="r1")
    cluster.register(1, [Endpoint("PLAINTEXT", "127.0.0.1", 9092)])
    before = cluster.features_epoch
    cluster.register(1, [])
    assert cluster.features_epoch == before + 2
    assert cluster.rack_of(1) == cluster.brokers.by_id[1].rack == "r1"


def test_a_broker_that_stops_takes_its_leave(open_cluster: OpenCluster) -> None:
    first = open_cluster()
    first.register(1, [Endpoint("PLAINTEXT", "127.0.0.1", 9092)])
    end = first.features_epoch
    first.close()
    # the departure, and the election of the next start
    assert open_cluster().features_epoch == end + 2


def test_a_directory_in_use_is_one_clear_error(open_cluster: OpenCluster) -> None:
    open_cluster()
    with pytest.raises(SettingsError, match="in use"):
        open_cluster()


def test_ids_are_those_of_the_source_that_was_given(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    assert cluster.make_id() != cluster.make_id()


def test_a_departure_that_cannot_be_written_does_not_hold_up_the_stop(
    open_cluster: OpenCluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = open_cluster()
    cluster.register(1, [Endpoint("PLAINTEXT", "h", 9092)])
    cluster.create_topic("t")
    cluster.log("t", 0).append_batch(batch(), now_ms=1)
    assert cluster.logs.metadata_log is not None
    cluster.logs.metadata_log.delete()
    cluster.close()
    assert "departure not written" in caplog.text
    assert open_cluster().log("t", 0).log_end_offset == 1


def test_a_new_directory_is_of_the_cluster_that_is_asked_for(open_cluster: OpenCluster) -> None:
    wanted = "d29yZCt3b3JkL3dvcmQrMQ=="  # as Testcontainers for Python makes them
    open_cluster(broker_lite_cluster_id=wanted).close(sync=False)
    second = open_cluster()
    assert second.cluster_id == wanted
    second.close(sync=False)
    with pytest.raises(SettingsError, match=r"belongs to cluster d29yZ\S+, not other$"):
        open_cluster(broker_lite_cluster_id="other")


def test_the_metadata_log_is_cut_into_segments_as_its_settings_say(
    open_cluster: OpenCluster,
) -> None:
    cluster = open_cluster(metadata_log_segment_bytes="8388608", metadata_log_segment_ms="60000")
    config = cluster.logs.open_metadata_log().config
    assert (config.segment_bytes, config.segment_ms) == (8_388_608, 60_000)
