"""The cluster in a process that follows: it knows the metadata, and has the logs of one broker.

Another process writes the metadata log. Its batches arrive here one after the other. Those that
were written before the start are only applied to the image, as in a replay. From then on logs and
watchers go on with each change, as in the process that wrote it.

Source: BrokerMetadataPublisher.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from anyio.lowlevel import checkpoint

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.controller import Moved
from broker_lite.control.metadata import metadata_records as kinds
from broker_lite.control.metadata.metadata_feed import Followed
from broker_lite.control.metadata.metadata_records import MetadataRecord
from broker_lite.control.metadata.topic import PartitionRegistration, Topic
from broker_lite.log.directory.manager import LogManager
from broker_lite.log.directory.recovery_progress import RecoveryProgress
from broker_lite.log.files.file_cache import FileCache
from broker_lite.settings import Settings
from broker_lite.wire import messages

LOGS_AT_A_TIME: Final = 64
"""So many logs are made before other tasks have their turn: each takes up to 0.2 ms."""


class Follower:
    """Lets a cluster follow the metadata log of another process; used by the event loop.

    Attributes:
        cluster: what handlers see.
    """

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        """Follow from the first batch on.

        Args:
            cluster: made as a follower, with open logs.
            clock: of the process.
        """
        self.cluster = cluster
        self._clock = clock
        self._has_begun = False
        self._replaced: dict[bytes, str] = {}

    @classmethod
    def open(cls, settings: Settings, data_dir: Path, clock: Clock, *, cluster_id: str) -> Self:
        """Open the data directory of one broker.

        Args:
            settings: of the broker, without dynamic ones.
            data_dir: created if it does not exist.
            clock: of the process.
            cluster_id: of the cluster; a new directory gets it.

        Raises:
            SettingsError: the directory is in use, belongs to another node, or is unusable.
        """
        logs = LogManager(
            data_dir,
            node_id=settings.node_id,
            now_ms=clock.now_ms,
            cluster_id=cluster_id,
            file_cache=FileCache(settings.broker_lite_open_files_max or None),
        )
        logs.open()
        return cls(Cluster(settings=settings, logs=logs, clock=clock, is_follower=True), clock)

    def begin(self, is_stopping: Callable[[], bool] = lambda: False) -> None:
        """Find or recover the logs of the broker's partitions; all earlier batches are applied.

        Raises:
            LoadStopped: is_stopping() returned true.
        """
        cluster = self.cluster
        cluster.logs.chores.deleted_ids = {
            topic_id for topic_id, name in self._replaced.items() if name in cluster.topics
        }
        self._replaced.clear()
        cluster.effects.broker_configs_read()
        for topic in cluster.topics.values():
            cluster.make_logs(topic)
        cluster.logs.recover(
            threads=cluster.settings.num_recovery_threads_per_data_dir,
            is_stopping=is_stopping,
            progress=RecoveryProgress(self._clock.monotonic_ms),
        )
        self._has_begun = True

    async def apply(self, followed: Followed) -> None:
        """Apply one batch, and what follows from it."""
        records, end_offset = followed
        changes = _Changes(self.cluster, records)
        self.cluster.follow(records, end_offset)
        if self._has_begun:
            await self._go_on(changes)
        else:
            self._replaced.update((topic.topic_id, topic.name) for topic in changes.deleted)

    async def _go_on(self, changes: "_Changes") -> None:
        cluster, effects = self.cluster, self.cluster.effects
        if changes.deleted:
            effects.topics_deleted(changes.deleted)
        made = [
            (topic, first)
            for topic_id, first in changes.grown.items()
            if (topic := cluster.topics_by_id.get(topic_id)) is not None
        ]
        if changes.resources:
            effects.configs_altered(changes.resources)
        if changes.before:
            effects.partitions_moved(changes.moved())
        if made:
            cluster.watchers.topics_changed([topic for topic, _ in made])
        if changes.has_quotas:
            cluster.watchers.quotas_changed()
        for topic, first in made:
            for start in range(first, topic.partition_count, LOGS_AT_A_TIME):
                cluster.make_logs(topic, start, start + LOGS_AT_A_TIME)
                await checkpoint()


class _Changes:
    """What a batch is about, found before it is applied.

    Attributes:
        deleted: topics that the batch removes.
        grown: the first new partition of topics that are new or grow, by their ids.
        resources: whose configs change, by type and name.
        before: partitions that change, as they are before the batch.
        has_quotas: whether quotas of clients change.
    """

    def __init__(self, cluster: Cluster, records: Sequence[MetadataRecord]) -> None:
        self._cluster = cluster
        self.deleted: list[Topic] = []
        self.grown: dict[bytes, int] = {}
        self.before: dict[tuple[bytes, int], PartitionRegistration] = {}
        self.has_quotas = False
        self._resources: dict[tuple[int, str], None] = {}
        for api_key, value in records:
            note = _NOTES.get(api_key)
            if note is not None:
                note(self, value)

    @property
    def resources(self) -> list[tuple[int, str]]:
        """See above."""
        return list(self._resources)

    def topic(self, record: messages.TopicRecord) -> None:
        """Note a new topic."""
        self.grown[bytes(record.topic_id)] = 0

    def partition(self, record: messages.PartitionRecord) -> None:
        """Note a new partition."""
        topic_id = bytes(record.topic_id)
        first = self.grown.get(topic_id, record.partition_id)
        self.grown[topic_id] = min(first, record.partition_id)

    def partition_change(self, record: messages.PartitionChangeRecord) -> None:
        """Note a partition as it is before."""
        topic_id, partition = bytes(record.topic_id), record.partition_id
        topic = self._cluster.topics_by_id.get(topic_id)
        if topic is not None and partition < topic.partition_count:
            self.before.setdefault((topic_id, partition), topic.partitions[partition])

    def removal(self, record: messages.RemoveTopicRecord) -> None:
        """Note a topic that there will not be any more."""
        topic = self._cluster.topics_by_id.get(bytes(record.topic_id))
        if topic is not None:
            self.deleted.append(topic)

    def config(self, record: messages.ConfigRecord) -> None:
        """Note the resource of a config."""
        self._resources[record.resource_type, record.resource_name] = None

    def client_quota(self, _record: messages.ClientQuotaRecord) -> None:
        """Note that quotas change."""
        self.has_quotas = True

    def moved(self) -> list[Moved]:
        """Return the partitions that have changed, after the batch."""
        topics = self._cluster.topics_by_id
        return [
            Moved(topics[topic_id], partition, before, topics[topic_id].partitions[partition])
            for (topic_id, partition), before in self.before.items()
            if topic_id in topics
        ]


_NOTES: Final[Mapping[int, Callable[[_Changes, Any], None]]] = {
    kinds.TOPIC: _Changes.topic,
    kinds.PARTITION: _Changes.partition,
    kinds.CONFIG: _Changes.config,
    kinds.PARTITION_CHANGE: _Changes.partition_change,
    kinds.REMOVE_TOPIC: _Changes.removal,
    kinds.CLIENT_QUOTA: _Changes.client_quota,
}
