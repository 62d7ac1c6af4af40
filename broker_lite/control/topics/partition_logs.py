"""The logs of the cluster's partitions: made and removed after the change in the metadata log.

The metadata log is the source of truth. If a directory could not be made, for example on a full
disk, it is made when its partition is used. If one cannot be removed, the next start sets it aside.
"""

import logging
from collections.abc import Callable, Iterable

from broker_lite.control.metadata.image import MetadataImage
from broker_lite.control.metadata.topic import PartitionRegistration, Topic
from broker_lite.control.topics.slow_topics import SlowTopics
from broker_lite.control.topics.topic_configs import TopicConfigs
from broker_lite.errors import (
    KafkaStorageError,
    NotLeaderOrFollower,
    UnknownTopicOrPartition,
    cause_of,
)
from broker_lite.log.canned.endless import EndlessRecords
from broker_lite.log.canned.runs import CannedRuns
from broker_lite.log.config import LogConfig
from broker_lite.log.directory.manager import LogManager
from broker_lite.log.log import Log

_log = logging.getLogger("broker_lite.control")


class PartitionLogs:
    """Finds logs by topic and partition; `configs` is replaced when the broker's settings change.

    `loaded` has the logs in use: the hot path is one look-up in it. `runs` has what the logs of
    synthetic topics consist of, and `slow_topics` the networks of the topics that have one.
    """

    def __init__(
        self,
        image: MetadataImage,
        manager: LogManager,
        configs: TopicConfigs,
        *,
        only: int | None = None,
    ) -> None:
        """Begin with no log in use.

        Args:
            image: of the cluster.
            manager: of the data directory.
            configs: of the topics.
            only: the broker whose partitions are here; None if those of all brokers are.
        """
        self.configs = configs
        self.loaded: dict[tuple[str, int], Log] = {}
        self.runs = CannedRuns(manager.data_dir)
        self.slow_topics = SlowTopics()
        self.when_loaded: Callable[[Log], None] | None = None
        self._image = image
        self._manager = manager
        self._only = only
        manager.offline.when_taken = self._forget

    def _forget(self, topic_name: str, partition: int) -> None:
        """Drop an offline log, so that the next look-up raises an error."""
        self.loaded.pop((topic_name, partition), None)

    def load(self, topic_name: str, partition: int) -> Log:
        """Return the log of a partition that is not in `loaded` yet.

        Raises:
            UnknownTopicOrPartition: there is no such partition.
            NotLeaderOrFollower: it is in another process.
            KafkaStorageError: the log cannot be made or loaded.

        See: C-32.
        """
        topic = self._image.topics.get(topic_name)
        if topic is None or not 0 <= partition < topic.partition_count:
            raise UnknownTopicOrPartition
        if not self._is_here(topic, partition):
            raise NotLeaderOrFollower
        try:
            log = self._manager.get(topic_name, partition)
        except UnknownTopicOrPartition:
            self._make(topic, partition, self.configs.log_config(topic))
            log = self._manager.get(topic_name, partition)
        self._follow(log, topic)
        self.loaded[topic_name, partition] = log
        if self.when_loaded is not None:
            self.when_loaded(log)
        return log

    def make(self, topic: Topic, partitions: Iterable[int]) -> None:
        """Make the logs of those partitions that are in this process, without loading them."""
        config = self.configs.log_config(topic)
        for partition in partitions:
            if not self._is_here(topic, partition):
                continue
            try:
                self._make(topic, partition, config)
            except KafkaStorageError as error:
                reason = cause_of(error)
                _log.error(
                    "partition not created topic=%s-%d reason=%s", topic.name, partition, reason
                )

    def _is_here(self, topic: Topic, partition: int) -> bool:
        return self._only is None or self._only in topic.partitions[partition].replicas

    def _make(self, topic: Topic, partition: int, config: LogConfig) -> None:
        self._manager.create(
            topic.name,
            partition,
            topic.topic_id,
            config,
            leader_epoch=topic.partitions[partition].leader_epoch,
        )

    def moved(self, topic: Topic, partition: int, before: PartitionRegistration) -> None:
        """Let a log go on after its partition was changed; whoever waits at it is woken.

        Where the file of epochs cannot be written, the next append tries again.

        Args:
            topic: after the change.
            partition: its index.
            before: the partition before the change.
        """
        if topic.partitions[partition].leader_epoch != before.leader_epoch:
            try:
                epoch = topic.partitions[partition].leader_epoch
                self._manager.become_leader(topic.name, partition, epoch)
            except UnknownTopicOrPartition:
                pass  # Its log was not made yet, and begins with this epoch when it is.
            except KafkaStorageError as error:
                _log.error(
                    "leader epoch not written topic=%s-%d reason=%s",
                    *(topic.name, partition, cause_of(error)),
                )
        log = self.loaded.get((topic.name, partition))
        if log is not None:
            self._follow(log, topic)
            log.visibility.wake()

    def _follow(self, log: Log, topic: Topic) -> None:
        """Note in a log what each request asks for: who leads, and what the topic's settings say.

        The settings say whether enough replicas are in sync, and whether the topic is synthetic. If
        the latter changes, whoever waits for records looks again.
        """
        partition = topic.partitions[log.partition]
        log.leader_id = partition.leader
        config = self.configs.of(topic)
        min_isr = min(config.min_insync_replicas, len(partition.replicas))
        log.lacks_replicas = len(partition.isr) < min_isr
        plan, current = self.configs.endless_plan(topic), log.visibility.synthetic
        if plan != (None if current is None else current.plan):
            log.visibility.synthetic = None if plan is None else EndlessRecords(plan, self.runs)
            log.visibility.wake()
        if not topic.is_internal:
            self.slow_topics.follow(topic.name, config)

    def truncate(self, topic_name: str, partition: int, offset: int) -> int:
        """Cut the end of a log; who waits at it is woken, and finds the log loaded anew.

        Returns:
            How many offsets were cut off.

        Raises:
            UnknownTopicOrPartition: there is no such partition.
            KafkaStorageError: the files are cut in part.

        See: C-52.
        """
        self.loaded.pop((topic_name, partition), None)
        return self._manager.truncate(topic_name, partition, offset)

    def remove(self, topic: Topic) -> None:
        """Remove the logs of a deleted topic; requests that wait at them are woken.

        See: P-110.
        """
        self.configs.forget(topic.name)
        self.slow_topics.forget(topic.name)
        for partition in range(topic.partition_count):
            self.loaded.pop((topic.name, partition), None)
            try:
                self._manager.delete(topic.name, partition)
            except UnknownTopicOrPartition:
                continue  # its log was never made

    def update_config(self, topic: Topic) -> None:
        """Apply the changed settings of a topic to its logs."""
        self.configs.forget(topic.name)
        config = self.configs.log_config(topic)
        self._manager.update_config(topic.name, topic.partition_count, config)
        for partition in range(topic.partition_count):
            log = self.loaded.get((topic.name, partition))
            if log is not None:
                self._follow(log, topic)
