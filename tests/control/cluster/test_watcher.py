from collections.abc import Collection

from broker_lite.control.cluster.controller import Moved
from broker_lite.control.metadata.image import BROKER_RESOURCE, GROUP_RESOURCE
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.topics.topic_rules import Growth, NewTopic
from tests.control.conftest import OpenCluster


class Notes:
    """Writes down what it is told, with the topics that there are at that moment."""

    def __init__(self, topics: Collection[str]) -> None:
        self.topics = topics
        self.told: list[object] = []

    def topics_changed(self, changed: Collection[Topic], deleted: Collection[Topic]) -> None:
        counts = [(topic.name, topic.partition_count) for topic in changed]
        self.told.append((counts, [topic.name for topic in deleted], [*self.topics]))

    def partitions_moved(self, moved: Collection[Moved]) -> None:
        self.told.append([(one.topic.name, one.partition, one.after.leader) for one in moved])

    def configs_changed(self, resources: Collection[tuple[int, str]]) -> None:
        self.told.append([*resources])


def test_changes_are_told_when_they_are_made(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    first, second = Notes(cluster.topics), Notes(cluster.topics)
    cluster.watchers.add(first)
    cluster.watchers.add(second)
    cluster.create_topics([cluster.plan_topic(NewTopic("t", 2))])
    (grown,) = cluster.create_partitions([cluster.plan_growth(Growth("t", 3))])
    cluster.alter_configs([(GROUP_RESOURCE, "g", {"consumer.session.timeout.ms": "50000"})])
    cluster.alter_configs([(BROKER_RESOURCE, "", {"log.retention.ms": "5"})])
    cluster.delete_topics([grown])
    assert first.told == [
        ([("t", 2)], [], ["t"]),
        ([("t", 3)], [], ["t"]),
        [(GROUP_RESOURCE, "g")],
        [(BROKER_RESOURCE, "")],
        ([], ["t"], []),
    ]
    assert second.told == first.told


def test_a_watcher_that_is_told_first(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    order: list[str] = []

    class Ordered(Notes):
        def __init__(self, name: str) -> None:
            super().__init__(())
            self.name = name

        def configs_changed(self, resources: Collection[tuple[int, str]]) -> None:
            order.append(self.name)

    cluster.watchers.add(Ordered("b"))
    cluster.watchers.add(Ordered("c"))
    cluster.watchers.add_first(Ordered("a"))
    cluster.alter_configs([(BROKER_RESOURCE, "", {"log.retention.ms": "5"})])
    assert order == ["a", "b", "c"]
