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
