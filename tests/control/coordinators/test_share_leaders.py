"""Who leads the partition of a share partition."""

from broker_lite.control.coordinators.share_leaders import share_leader
from broker_lite.control.metadata.topic import NO_LEADER
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.coordinator.share_records.states import ShareKey
from tests.control.conftest import OpenCluster


def test_what_there_is_not_has_no_leader(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    (topic,) = cluster.create_topics([cluster.plan_topic(NewTopic("t", 1))])
    key = ShareKey("g", topic.topic_id, 0)
    assert share_leader(cluster, key) is topic.partitions[0]
    for unknown in (key._replace(partition=1), key._replace(topic_id=b"u" * 16)):
        assert share_leader(cluster, unknown)[:2] == (NO_LEADER, 0)
