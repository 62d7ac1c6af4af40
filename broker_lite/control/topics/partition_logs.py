"""The logs of the cluster's partitions: made after the metadata says so, removed after it does.

The metadata log counts. A directory that could not be made, as on a full disk, is made when its
partition is used; one that cannot be removed is set aside at the next start.
"""

import logging
from collections.abc import Iterable

from broker_lite.control.metadata.image import MetadataImage
from broker_lite.control.metadata.topic import PartitionRegistration, Topic
from broker_lite.control.topics.topic_configs import TopicConfigs
from broker_lite.errors import KafkaStorageError, UnknownTopicOrPartition, cause_of
from broker_lite.log.config import LogConfig
from broker_lite.log.directory.manager import LogManager
from broker_lite.log.log import Log

_log = logging.getLogger("broker_lite.control")


class PartitionLogs:
    """Finds logs by topic and partition; `configs` is replaced when the broker's settings change.

    `loaded` holds the logs in use: the hot path is one look-up in it.
    """

    def __init__(self, image: MetadataImage, manager: LogManager, configs: TopicConfigs) -> None:
        self.configs = configs
        self.loaded: dict[tuple[str, int], Log] = {}
        self._image = image
        self._manager = manager
        manager.offline.when_taken = self._forget

    def _forget(self, topic_name: str, partition: int) -> None:
        """Have the next look-up find out that a log is offline."""
        self.loaded.pop((topic_name, partition), None)

    def load(self, topic_name: str, partition: int) -> Log:
        """The log of a partition that is not in use yet.

        Raises:
            UnknownTopicOrPartition: there is no such partition.
            KafkaStorageError: it cannot be made or loaded.
        """
        topic = self._image.topics.get(topic_name)
        if topic is None or not 0 <= partition < topic.partition_count:
            raise UnknownTopicOrPartition
        try:
            log = self._manager.get(topic_name, partition)
        except UnknownTopicOrPartition:
            self._make(topic, partition, self.configs.log_config(topic))
            log = self._manager.get(topic_name, partition)
        log.leader_id = topic.partitions[partition].leader
        self.loaded[topic_name, partition] = log
        return log

    def make(self, topic: Topic, partitions: Iterable[int]) -> None:
        """Make the logs of some partitions, without loading them."""
        config = self.configs.log_config(topic)
        for partition in partitions:
            try:
                self._make(topic, partition, config)
            except KafkaStorageError as error:
                reason = cause_of(error)
                _log.error(
                    "partition not made topic=%s-%d reason=%s", topic.name, partition, reason
                )

    def _make(self, topic: Topic, partition: int, config: LogConfig) -> None:
        self._manager.create(
            topic.name,
            partition,
            topic.topic_id,
            config,
            leader_epoch=topic.partitions[partition].leader_epoch,
        )

    def become_leader(
        self, topic_name: str, partition: int, registration: PartitionRegistration
    ) -> None:
        """Let a partition go on under a new leader; who waits at its log is woken.

        Where the file of epochs cannot be written, the next append tries again.
        """
        log = self.loaded.get((topic_name, partition))
        if log is not None:
            log.leader_id = registration.leader
        try:
            self._manager.become_leader(topic_name, partition, registration.leader_epoch)
        except (UnknownTopicOrPartition, KafkaStorageError) as error:
            _log.error(
                "leader epoch not written topic=%s-%d reason=%s",
                *(topic_name, partition, cause_of(error)),
            )

    def remove(self, topic: Topic) -> None:
        """Remove the logs of a topic that is gone; whoever waits at them is woken.

        See: P-110.
        """
        self.configs.forget(topic.name)
        for partition in range(topic.partition_count):
            self.loaded.pop((topic.name, partition), None)
            try:
                self._manager.delete(topic.name, partition)
            except UnknownTopicOrPartition:
                continue  # nothing was ever made of it

    def update_config(self, topic: Topic) -> None:
        """Give the logs of a topic its settings, which have changed."""
        self.configs.forget(topic.name)
        config = self.configs.log_config(topic)
        self._manager.update_config(topic.name, topic.partition_count, config)
