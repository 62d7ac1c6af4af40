"""The queries of a cluster: its topics, configs, features and logs.

Nothing is changed here, except that a log is loaded when it is first used.
"""

from collections.abc import Mapping

from broker_lite.control.cluster.features import Supported, supported_features
from broker_lite.control.metadata.brokers import BrokerRegistrations
from broker_lite.control.metadata.image import MetadataImage
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.topics.partition_logs import PartitionLogs
from broker_lite.control.users.credential_rules import Credentials
from broker_lite.control.users.quota_rules import Entity
from broker_lite.errors import UnknownTopicOrPartition
from broker_lite.log.directory.manager import LogManager
from broker_lite.log.log import Log
from broker_lite.log.validate.validated import ValidationConfig
from broker_lite.settings import Settings, TopicConfig


class ClusterView:
    """The read-only part of a cluster.

    Attributes:
        node_id: of the first broker of this process; its data directory is the one on disk.
        node_ids: of all brokers of this process.
        settings: the broker's, with the dynamic ones in force.
        logs: the logs of all partitions, for who flushes, checkpoints and cleans.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        image: MetadataImage,
        logs: LogManager,
        partition_logs: PartitionLogs,
    ) -> None:
        self.node_id: int = settings.node_id
        self.node_ids = range(self.node_id, self.node_id + settings.broker_lite_brokers)
        self.settings = settings
        self.logs = logs
        self._image = image
        self._logs = partition_logs

    @property
    def cluster_id(self) -> str:
        """The cluster's id, of 22 characters (P-83)."""
        return self.logs.cluster_id

    def rack_of(self, node_id: int) -> str | None:
        """Return where one of the brokers of this process stands."""
        if not self.settings.broker_lite_racks:
            return self.settings.broker_rack
        racks = self.settings.broker_lite_racks.split(",")
        return racks[(node_id - self.node_id) % len(racks)].strip() or None

    @property
    def controller_id(self) -> int:
        """The broker that clients are told as the controller: any one that is alive, in KRaft."""
        alive = self._image.brokers.alive()
        return alive[0].node_id if alive else -1

    @property
    def brokers(self) -> BrokerRegistrations:
        """The brokers of the cluster, also those that are fenced; a view."""
        return self._image.brokers

    @property
    def topics(self) -> Mapping[str, Topic]:
        """All topics by name; a live view."""
        return self._image.topics

    @property
    def topics_by_id(self) -> Mapping[bytes, Topic]:
        """All topics by id; a live view."""
        return self._image.topics_by_id

    @property
    def features(self) -> Mapping[str, int]:
        """The levels of the features that are in force, by name."""
        return self._image.features

    @property
    def client_quotas(self) -> Mapping[Entity, Mapping[str, float]]:
        """The quotas that are set, by entity; a live view."""
        return self._image.client_quotas

    @property
    def scram_credentials(self) -> Credentials:
        """The credentials of users; a live view."""
        return self._image.scram_credentials

    @property
    def supported_features(self) -> Supported:
        """The features of the emulated release, and their levels."""
        return supported_features(self.settings.emulate)

    def log(self, topic_name: str, partition: int) -> Log:
        """Return the log of a partition.

        Raises:
            UnknownTopicOrPartition: there is no such partition.
            KafkaStorageError: the log cannot be loaded.
        """
        log = self._logs.loaded.get((topic_name, partition))
        return log if log is not None else self._logs.load(topic_name, partition)

    def leader_epoch(self, topic_name: str, partition: int) -> int:
        """Return the leader epoch of a partition.

        Raises:
            UnknownTopicOrPartition: there is no such partition.
        """
        topic = self._image.topics.get(topic_name)
        if topic is None or not 0 <= partition < topic.partition_count:
            raise UnknownTopicOrPartition
        return topic.partitions[partition].leader_epoch

    def has_replica(self, topic_name: str, partition: int, node_id: int) -> bool:
        """Whether a broker has a replica of a partition that there is."""
        topic = self._image.topics.get(topic_name)
        if topic is None or not 0 <= partition < topic.partition_count:
            return False
        return node_id in topic.partitions[partition].replicas

    def topic_config(self, topic_name: str) -> TopicConfig:
        """Return the effective settings of a topic; the same object until they change.

        Raises:
            UnknownTopicOrPartition: there is no such topic.
        """
        topic = self._image.topics.get(topic_name)
        if topic is None:
            raise UnknownTopicOrPartition
        return self._logs.configs.of(topic)

    def validation_config(self, topic: Topic) -> ValidationConfig:
        """Return a topic's settings for the validator; the same object until they change."""
        return self._logs.configs.validation_config(topic)

    def configs(self, resource_type: int, resource_name: str) -> Mapping[str, str]:
        """Return the configs that are set on a resource, by the resource's type code and name."""
        return self._image.configs(resource_type, resource_name)

    def configured(self, resource_type: int) -> list[str]:
        """Return the names of the resources of a type that have configs."""
        return self._image.configured(resource_type)
