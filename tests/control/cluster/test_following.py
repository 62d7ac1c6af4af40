"""A follower beside the cluster whose metadata log it follows.

Also tests: broker_lite.control.cluster.effects.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.controller import Moved
from broker_lite.control.cluster.following import Follower
from broker_lite.control.metadata.brokers import Endpoint
from broker_lite.control.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE
from broker_lite.control.metadata.metadata_feed import MetadataReader, batches_of
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.topics.topic_rules import Growth, NewTopic
from broker_lite.errors import NotLeaderOrFollower, UnknownTopicOrPartition
from broker_lite.handler.large import in_slices
from broker_lite.settings import Settings
from broker_lite.settings.per_node import settings_of_process
from tests.control.conftest import OpenCluster


class Pair:
    """The first process's cluster, and a follower with broker 2."""

    def __init__(self, first: Cluster, given: Settings, data_dir: Path) -> None:
        self.first = first
        self.clock = Clock.standing_still()
        self.follower = Follower.open(
            settings_of_process(given, 1), data_dir, self.clock, cluster_id=first.cluster_id
        )
        self.reader = MetadataReader(first.metadata_log, first.metadata_version)
        self.data_dir = data_dir

    @property
    def cluster(self) -> Cluster:
        return self.follower.cluster

    def follow(self) -> None:
        """Apply what the first process has written since."""

        async def apply() -> None:
            while data := self.reader.read():
                for batch in batches_of(data):
                    await self.follower.apply(await in_slices(batch))

        asyncio.run(apply())

    def begin(self) -> None:
        self.follow()
        self.follower.begin()

    def create(self, name: str, leaders: Collection[int], **configs: str) -> Topic:
        """Make a topic whose partitions are led by these brokers."""
        new = NewTopic(
            name,
            assignments=tuple((index, [leader]) for index, leader in enumerate(leaders)),
            configs=tuple((key.replace("_", "."), value) for key, value in configs.items()),
        )
        (topic,) = self.first.create_topics([self.first.plan_topic(new)])
        self.first.make_logs(topic)
        return topic

    def names(self) -> list[str]:
        """The partitions that the follower has, whether in use or not."""
        found = []
        for topic in self.first.topics.values():
            for index in range(topic.partition_count):
                try:
                    self.cluster.logs.size_bytes(topic.name, index)
                except UnknownTopicOrPartition:
                    continue
                found.append(f"{topic.name}-{index}")
        return found


@pytest.fixture
def pair(open_cluster: OpenCluster, tmp_path: Path) -> Iterator[Pair]:
    first = open_cluster(broker_lite_processes="2")
    for node_id in first.all_node_ids:
        first.register(node_id, [Endpoint("PLAINTEXT", "h", 9090 + node_id)])
    opened = Pair(first, first.settings_of(1), tmp_path / "second")
    yield opened
    opened.cluster.close(sync=False)


class Watcher:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.changed: list[str] = []
        self.deleted: list[str] = []
        self.configs: list[tuple[int, str]] = []
        self.moved: list[tuple[str, int, int, int]] = []

    def topics_changed(self, changed: Collection[Topic], deleted: Collection[Topic]) -> None:
        self.changed += [topic.name for topic in changed]
        self.deleted += [topic.name for topic in deleted]

    def configs_changed(self, resources: Collection[tuple[int, str]]) -> None:
        self.configs += resources

    def partitions_moved(self, moved: Collection[Moved]) -> None:
        self.moved += [
            (one.topic.name, one.partition, one.before.leader, one.after.leader) for one in moved
        ]


def test_what_was_there_before_is_found(pair: Pair) -> None:
    pair.create("t", [1, 2, 2])
    pair.begin()
    assert pair.cluster.topics == pair.first.topics
    assert pair.names() == ["t-1", "t-2"]
    assert pair.cluster.log("t", 1).leader_id == 2
    assert pair.cluster.cluster_id == pair.first.cluster_id
    assert pair.cluster.features_epoch == pair.first.features_epoch


@pytest.mark.parametrize("which", ["first", "second"])
def test_c_32_a_partition_in_another_process_has_no_log_here(pair: Pair, which: str) -> None:
    pair.create("t", [1, 2])
    pair.begin()
    cluster, elsewhere = (pair.first, 1) if which == "first" else (pair.cluster, 0)
    with pytest.raises(NotLeaderOrFollower):
        cluster.log("t", elsewhere)
    with pytest.raises(UnknownTopicOrPartition):
        cluster.log("t", 2)


def test_topics_come_grow_and_go(pair: Pair) -> None:
    pair.begin()
    watcher = Watcher()
    pair.cluster.watchers.add(watcher)
    pair.create("t", [2, 1])
    pair.follow()
    assert (pair.names(), watcher.changed) == (["t-0"], ["t"])
    growth = pair.first.plan_growth(Growth("t", 4, assignments=[[2], [2]]))
    pair.first.create_partitions([growth])
    pair.follow()
    assert pair.names() == ["t-0", "t-2", "t-3"]
    log = pair.cluster.log("t", 2)
    pair.first.delete_topics([pair.first.topics["t"]])
    pair.follow()
    assert log.is_deleted
    assert watcher.deleted == ["t"]
    assert not pair.cluster.topics


def test_a_topic_that_was_replaced_before_has_its_own_logs(pair: Pair) -> None:
    old = pair.create("t", [2])
    pair.first.delete_topics([old])
    new = pair.create("t", [2])
    pair.begin()
    assert pair.cluster.logs.chores.deleted_ids == {old.topic_id}
    assert pair.cluster.topics_by_id.keys() == {new.topic_id}


def test_configs_are_in_force_when_they_are_followed(pair: Pair) -> None:
    pair.create("t", [2], retention_ms="5")
    pair.begin()
    assert pair.cluster.topic_config("t").retention_ms == 5
    log = pair.cluster.log("t", 0)
    watcher = Watcher()
    pair.cluster.watchers.add(watcher)
    pair.first.alter_configs([(TOPIC_RESOURCE, "t", {"segment.bytes": "2097152"})])
    pair.first.alter_configs([(BROKER_RESOURCE, "2", {"message.max.bytes": "77"})])
    pair.follow()
    assert log.config.segment_bytes == 2097152
    assert watcher.configs == [(TOPIC_RESOURCE, "t"), (BROKER_RESOURCE, "2")]
    assert pair.cluster.settings_of(2).message_max_bytes == 77
    assert pair.cluster.validation_config(pair.cluster.topics["t"]).max_message_bytes == 77
    assert pair.first.settings_of(1).message_max_bytes == 1048588


def test_dynamic_settings_of_before_count_from_the_beginning(pair: Pair) -> None:
    pair.first.alter_configs([(BROKER_RESOURCE, "", {"message.max.bytes": "88"})])
    pair.begin()
    assert pair.cluster.settings.message_max_bytes == 88


def test_leaders_and_epochs_follow(pair: Pair) -> None:
    pair.create("t", [2, 1])
    pair.begin()
    log, watcher = pair.cluster.log("t", 0), Watcher()
    pair.cluster.watchers.add(watcher)
    pair.first.membership.fence(2)
    pair.follow()
    assert log.leader_id == -1
    pair.first.membership.speak(2)
    pair.follow()
    assert (log.leader_id, log.leader_epoch) == (2, 2)
    assert watcher.moved == [("t", 0, 2, -1), ("t", 0, -1, 2)]


def test_quotas_follow(pair: Pair) -> None:
    from broker_lite.control.cluster import metadata_changes as changes
    from broker_lite.control.users.quota_rules import entity_of

    pair.begin()
    told: list[int] = []
    pair.cluster.watchers.quotas_changed = lambda: told.append(1)
    pair.create("t", [2])
    pair.follow()
    assert not told
    pair.first.write(changes.quota_changes(entity_of([("user", "u")]), {"request_percentage": 1.0}))
    pair.follow()
    assert told == [1]
    assert pair.cluster.client_quotas == pair.first.client_quotas


def test_an_unclean_stop_is_recovered(pair: Pair, open_cluster: Callable[..., Cluster]) -> None:
    pair.create("t", [2])
    pair.begin()
    pair.cluster.log("t", 0)
    pair.cluster.logs.abandon()
    again = Pair(pair.first, pair.first.settings_of(1), pair.data_dir)
    again.begin()
    assert not again.cluster.logs.was_clean
    assert again.cluster.log("t", 0).log_end_offset == 0
    again.cluster.close(sync=False)
