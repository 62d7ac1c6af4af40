"""The topics as the coordinators see them.

Also tests: broker_lite.coordinator.topics.
"""

from broker_lite.control.coordinators.cluster_topics import ClusterTopics
from broker_lite.control.topics.topic_rules import NewTopic
from tests.control.conftest import OpenCluster


def test_topics_are_those_of_the_moment(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    topics = ClusterTopics(cluster)
    assert (topics.get("t"), [*topics]) == (None, [])
    (topic,) = cluster.create_topics([cluster.plan_topic(NewTopic("t", 2))])
    assert topics.get("t") is topics.by_id(topic.topic_id) is topic
    assert [*topics] == ["t"]
    cluster.delete_topics([topic])
    assert (topics.by_id(topic.topic_id), [*topics]) == (None, [])


def test_g_84_racks_are_those_of_registered_brokers(open_cluster: OpenCluster) -> None:
    cluster = open_cluster(broker_lite_brokers="3", broker_lite_racks="a,,c")
    for node_id in cluster.node_ids:
        cluster.register(node_id, [])
    topics = ClusterTopics(cluster)
    new = NewTopic("t", assignments=[(0, (1, 2, 3)), (1, (2, 1, 3))])
    cluster.create_topics([cluster.plan_topic(new)])
    assert [*topics.racks("t")] == ["a,c", "a,c"]
    assert [*topics.racks("u")] == []
    cluster.controller.lose(3)
    cluster.controller.unregister(3)
    assert [*topics.racks("t")] == ["a", "a"]


def test_without_racks_nothing_is_told(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    cluster.create_topics([cluster.plan_topic(NewTopic("t", 2))])
    assert [*ClusterTopics(cluster).racks("t")] == []
