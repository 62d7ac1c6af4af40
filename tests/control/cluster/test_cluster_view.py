import pytest

from broker_lite.control.metadata.image import GROUP_RESOURCE, TOPIC_RESOURCE
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.errors import UnknownTopicOrPartition
from tests.control.conftest import OpenCluster


def test_what_there_is(open_cluster: OpenCluster) -> None:
    cluster = open_cluster(broker_rack="r1")
    new = NewTopic("t", 2, configs=(("retention.ms", "7"),))
    (topic,) = cluster.create_topics([cluster.plan_topic(new)])
    assert (cluster.rack_of(1), len(cluster.cluster_id)) == ("r1", 22)
    assert cluster.topics_by_id[topic.topic_id] is cluster.topics["t"]
    assert cluster.leader_epoch("t", 1) == 0
    assert cluster.log("t", 1) is cluster.log("t", 1)
    assert cluster.topic_config("t").retention_ms == 7
    assert cluster.validation_config(topic).topic == "t"
    assert cluster.configs(TOPIC_RESOURCE, "t") == {"retention.ms": "7"}


def test_g91_what_has_configs_is_found(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    assert cluster.configured(GROUP_RESOURCE) == []
    for name in ("g1", "g2"):
        cluster.alter_configs([(GROUP_RESOURCE, name, {"consumer.session.timeout.ms": "50000"})])
    assert cluster.configured(GROUP_RESOURCE) == ["g1", "g2"]
    cluster.alter_configs([(GROUP_RESOURCE, "g1", {"consumer.session.timeout.ms": None})])
    assert cluster.configured(GROUP_RESOURCE) == ["g2"]


def test_what_there_is_not(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    cluster.create_topics([cluster.plan_topic(NewTopic("t"))])
    for name, partition in (("t", 1), ("t", -1), ("u", 0)):
        with pytest.raises(UnknownTopicOrPartition):
            cluster.log(name, partition)
        with pytest.raises(UnknownTopicOrPartition):
            cluster.leader_epoch(name, partition)
    with pytest.raises(UnknownTopicOrPartition):
        cluster.topic_config("u")
