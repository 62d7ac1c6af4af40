"""The cluster: its topics, configs and ids, and the logs of its partitions.

One synchronous call checks a change, writes it to the metadata log, and applies it to the image and
then to the logs. So other requests see all of the change or nothing of it. The metadata log on disk
is the source of truth: if a partition's directory is missing, it is made when it is needed.
"""

import logging
import random
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Self

from broker_lite.control.clock import Clock
from broker_lite.control.cluster import metadata_changes as changes
from broker_lite.control.cluster.cluster_view import ClusterView
from broker_lite.control.cluster.controller import Controller
from broker_lite.control.cluster.effects import Effects
from broker_lite.control.cluster.eligible_replicas import clearings, safety_configs
from broker_lite.control.cluster.features import given_features, initial_features
from broker_lite.control.cluster.left_behind import check_none_is_left
from broker_lite.control.cluster.membership import Membership
from broker_lite.control.cluster.producer_id_blocks import PRODUCER_ID_BLOCK, ProducerIds
from broker_lite.control.cluster.watcher import Watchers
from broker_lite.control.metadata.brokers import Endpoint
from broker_lite.control.metadata.image import MetadataImage
from broker_lite.control.metadata.metadata_batches import feature_records
from broker_lite.control.metadata.metadata_log import MetadataLog
from broker_lite.control.metadata.metadata_records import MetadataChange, MetadataRecord
from broker_lite.control.metadata.quorum_files import (
    bootstrap_users,
    mend_bootstrap_checkpoint,
    write_bootstrap_checkpoint,
)
from broker_lite.control.metadata.replaying import replay
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.metadata.topic_names import make_id
from broker_lite.control.topics.internal_topics import automatic_topic
from broker_lite.control.topics.partition_logs import PartitionLogs
from broker_lite.control.topics.topic_configs import TopicConfigs
from broker_lite.control.topics.topic_rules import GrowthPlan, TopicPlan
from broker_lite.log.config import LogConfig
from broker_lite.log.directory.manager import LogManager
from broker_lite.log.directory.recovery_progress import RecoveryProgress
from broker_lite.log.files.checkpoints import parse_uuid
from broker_lite.log.files.file_cache import FileCache
from broker_lite.settings import Settings

_log = logging.getLogger("broker_lite.control")

ConfigChange = tuple[int, str, Mapping[str, str | None]]
"""Resource type, resource name, and new values by key; None restores the default."""


class Cluster(ClusterView):
    """One cluster; made by `open`, used by one thread.

    Its brokers live in this process, and each further process has one more (see Follower).

    Attributes:
        controller: changes brokers and leaders.
        membership: the brokers of this process.
        watchers: told of every change of topics, configs and leaders once it is made.
        effects: what follows from such a change.
        written: called after each change of the metadata log.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        logs: LogManager,
        clock: Clock,
        random_bytes: Callable[[int], bytes] = secrets.token_bytes,
        is_follower: bool = False,
    ) -> None:
        """Store the parts; start() is the first to use them.

        Args:
            settings: without dynamic configs.
            logs: have to be open before start(); close() closes them.
            clock: of the process.
            random_bytes: the source of ids.
            is_follower: whether another process writes the metadata; then see Follower.
        """
        image = MetadataImage()
        is_alone = settings.process_count == 1 and not is_follower
        only = None if is_alone else settings.node_id
        image.brokers.alone_at = only
        partition_logs = PartitionLogs(image, logs, TopicConfigs(settings), only=only)
        super().__init__(
            settings=settings,
            image=image,
            logs=logs,
            partition_logs=partition_logs,
            chance=random.Random(int.from_bytes(random_bytes(8))),  # noqa: S311 - no secret
        )
        self.watchers = Watchers()
        self.effects = Effects(image, partition_logs, self.watchers, self._apply_broker_configs)
        self.written: Callable[[], object] = lambda: None
        self._followed_end = 0
        self._clock = clock
        self._random_bytes = random_bytes
        self._metadata_log: MetadataLog | None = None
        self.controller = Controller(
            image=image,
            write=self.write,
            end_offset=lambda: self.metadata_log.end_offset,
            topic_config=lambda topic: self._logs.configs.of(topic),
        )
        self.controller.moved = self.effects.partitions_moved
        self.membership = Membership(
            node_ids=self.all_node_ids,
            brokers=image.brokers,
            controller=self.controller,
            write=self.write,
            make_id=self.make_id,
            settings_of=self.settings_of,
            steady_ms=clock.steady_ms,
        )
        self._producer_ids = ProducerIds(self._take_producer_ids)

    @classmethod
    def open(
        cls,
        settings: Settings,
        data_dir: Path,
        clock: Clock,
        *,
        random_bytes: Callable[[int], bytes] = secrets.token_bytes,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> Self:
        """Open the cluster of a data directory, or create a new cluster there.

        Args:
            settings: without dynamic configs.
            data_dir: created if it does not exist.
            clock: of the process.
            random_bytes: the source of ids.
            is_stopping: called again and again during the recovery of logs.

        Raises:
            SettingsError: the directory is in use, belongs to another node, or is unusable.
            KafkaStorageError: the metadata log cannot be read or written.
            LoadStopped: is_stopping() returned true.
        """
        logs = LogManager(
            data_dir,
            node_id=settings.node_id,
            now_ms=clock.now_ms,
            cluster_id=settings.broker_lite_cluster_id,
            file_cache=FileCache(settings.broker_lite_open_files_max or None),
        )
        cluster = cls(settings=settings, logs=logs, clock=clock, random_bytes=random_bytes)
        logs.open()
        try:
            cluster.start(is_stopping)
        except BaseException:
            logs.close()
            raise
        return cluster

    def start(self, is_stopping: Callable[[], bool] = lambda: False) -> None:
        """Replay the metadata log, and find or recover the logs of all partitions.

        Raises:
            KafkaStorageError: the metadata log cannot be read or written.
            SettingsError: the settings ask for features that do not exist.
            LoadStopped: is_stopping() returned true.
        """
        now_ms = self._clock.now_ms()
        settings = self.settings
        config = LogConfig(
            segment_bytes=settings.metadata_log_segment_bytes,
            segment_ms=settings.metadata_log_segment_ms,
        )
        self._metadata_log = MetadataLog.open(self.logs, config)
        is_new = self._metadata_log.is_new
        self.logs.chores.deleted_ids = replay(self._metadata_log, self._image)
        self._metadata_log.become_leader(now_ms=now_ms)
        given, supported = settings.broker_lite_features, self.supported_features
        data_dir = self.logs.data_dir
        if is_new:
            features, users = initial_features(given, supported), bootstrap_users(data_dir)
            write_bootstrap_checkpoint(data_dir, features, users, now_ms=now_ms)
            self.update_features(features)
            self.write(users)
        else:
            mend_bootstrap_checkpoint(data_dir, self.features, now_ms=now_ms)
        self.update_features(given_features(given, supported))
        self._apply_broker_configs()
        self.membership.expect(parse_uuid(self.logs.directory_id))
        check_none_is_left(self._image.topics.values(), data_dir, self.all_node_ids)
        for topic in self._image.topics.values():
            self._logs.make(topic, range(topic.partition_count))
        self.membership.fence_others()
        self.logs.recover(
            threads=self.settings.num_recovery_threads_per_data_dir,
            is_stopping=is_stopping,
            progress=RecoveryProgress(self._clock.monotonic_ms),
        )

    def register(
        self, node_id: int, endpoints: Sequence[Endpoint], directory_id: bytes | None = None
    ) -> None:
        """Let in a broker whose listeners are open; see Membership.register."""
        self.thaw_metadata(node_id)
        supported = self.supported_features_of(node_id)
        self.membership.register(node_id, endpoints, supported, directory_id)

    def close(self, *, sync: bool = True) -> None:
        """Close all logs, so that the next start needs no recovery.

        Args:
            sync: whether to flush to disk, which a temporary directory does not need.
        """
        self._logs.loaded.clear()
        if sync:
            self.membership.leave()
        self.logs.close(sync=sync, broker_epoch=max(self._image.broker_epoch(self.node_id), 0))

    @property
    def metadata_log(self) -> MetadataLog:
        """The log of all changes; of a started cluster."""
        assert self._metadata_log is not None
        return self._metadata_log

    @property
    def features_epoch(self) -> int:
        """A number that grows with each change of the features: the metadata log's last offset."""
        log = self._metadata_log
        return (self._followed_end if log is None else log.end_offset) - 1

    @property
    def metadata_leader_epoch(self) -> int:
        """The epoch in which this node leads the metadata log."""
        return self.metadata_log.leader_epoch

    # -- topics

    def make_id(self) -> bytes:
        """Return a new random id, for a topic or for an answer that shows one (P-21, P-106)."""
        return make_id(self._random_bytes)

    def create_topic(self, name: str) -> Topic:
        """Create a topic with the broker's defaults, as when a client first uses it.

        Raises:
            BrokerError: the topic cannot be created; see plan_topic.

        Rule: P-113.
        See: P-85, P-86.
        """
        (topic,) = self.create_topics([self.plan_topic(automatic_topic(self.settings, name))])
        if not topic.is_internal:
            self.make_logs(topic)
        return topic

    def create_topics(
        self, plans: Sequence[TopicPlan], ids: Sequence[bytes] | None = None
    ) -> list[Topic]:
        """Create planned topics, all or none; then make_logs() has to make their logs.

        Args:
            plans: as plan_topic() gave them.
            ids: of the topics; None for new ones.

        Raises:
            KafkaStorageError: the change was not written; no topic was created.

        Rule: P-108, P-113.
        """
        if ids is None:
            ids = [self.make_id() for _ in plans]
        records: list[MetadataChange] = []
        for plan, topic_id in zip(plans, ids, strict=True):
            records += changes.creation(plan, topic_id)
        self.write(records)
        topics = [self._image.topics_by_id[topic_id] for topic_id in ids]
        self.watchers.topics_changed(topics)
        return topics

    def make_logs(self, topic: Topic, start: int = 0, stop: int | None = None) -> None:
        """Make the logs of some partitions; after a failure a log is made at its first use.

        Args:
            topic: if it was deleted meanwhile, nothing is made.
            start: the first partition.
            stop: one past the last partition, None for all.
        """
        current = self._image.topics_by_id.get(topic.topic_id)
        if current is not None:
            stop = current.partition_count if stop is None else min(stop, current.partition_count)
            self._logs.make(current, range(start, stop))

    def create_partitions(self, plans: Sequence[GrowthPlan]) -> list[Topic]:
        """Add partitions to topics, all or none; make_logs() then makes their logs.

        Args:
            plans: as plan_growth() gave them.

        Raises:
            KafkaStorageError: the change was not written; no topic grew.

        See: P-111.
        """
        self.write([changes.growth(plan) for plan in plans])
        topics = [self._image.topics_by_id[plan.topic.topic_id] for plan in plans]
        self.watchers.topics_changed(topics)
        return topics

    def delete_topics(self, topics: Sequence[Topic]) -> None:
        """Delete topics with their data, all or none; requests that wait at their logs are woken.

        Raises:
            KafkaStorageError: the change was not written; no topic was deleted.

        Rule: P-110.
        """
        self.write([changes.removal(topic) for topic in topics])
        # at once: a new topic with the same name must not find these logs
        self.effects.topics_deleted(topics)

    # -- configs and ids

    def alter_configs(self, altered: Iterable[ConfigChange]) -> None:
        """Set configs that the caller has checked, one change for each resource.

        They are in force when this returns.

        Raises:
            KafkaStorageError: the change was not written; nothing was changed.

        See: P-126, P-128, P-131.
        """
        altered = list(altered)
        self.write([*_config_records(altered), *clearings(self.features, altered)])
        self.effects.configs_altered([resource[:2] for resource in altered])

    def _apply_broker_configs(self) -> None:
        self._node_settings.forget()
        self.settings = self.settings_of(self.node_id)
        self._logs.configs = TopicConfigs(self.settings)

    def next_producer_id(self) -> int:
        """Return a producer id that was never used before (see ProducerIds.next)."""
        return self._producer_ids.next()

    def _take_producer_ids(self) -> int:
        end = self._image.next_producer_id + PRODUCER_ID_BLOCK
        epoch = self._image.broker_epoch(self.node_id)
        self.write([changes.producer_ids(self.node_id, epoch, end)])
        return end - PRODUCER_ID_BLOCK

    def update_features(self, levels: Mapping[str, int]) -> None:
        """Set levels of features that the caller has checked; 0 is off."""
        features = self._image.features
        changed = {name: level for name, level in levels.items() if features.get(name, 0) != level}
        configs = safety_configs(self._image, changed, self._node_settings.static(self.node_id))
        self.write([*feature_records(changed), *_config_records(configs)])
        if configs:
            self.effects.configs_altered([resource[:2] for resource in configs])

    # -- writing a change

    def truncate(self, topic_name: str, partition: int, offset: int) -> int:
        """Cut the end of a log; see PartitionLogs.truncate."""
        return self._logs.truncate(topic_name, partition, offset)

    def write(self, records: Sequence[MetadataChange]) -> None:
        """Write a checked change to the metadata log, and apply it to the image.

        Raises:
            KafkaStorageError: the change was not written; nothing was changed.
        """
        if records:
            self.metadata_log.append(
                records,
                now_ms=self._clock.now_ms(),
                metadata_version=self.metadata_version,
            )
            self._image.apply(records)
            self.written()

    def follow(self, records: Sequence[MetadataRecord], end_offset: int) -> None:
        """Apply what another process has written to its metadata log.

        Args:
            records: of one batch.
            end_offset: of that log, behind them.
        """
        self._image.apply(records)
        self._followed_end = end_offset


def _config_records(altered: Iterable[ConfigChange]) -> list[MetadataRecord]:
    return list(chain.from_iterable(changes.config_changes(*one) for one in altered))
