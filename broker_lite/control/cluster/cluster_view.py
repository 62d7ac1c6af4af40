"""The queries of a cluster: its topics, configs, features and logs, and what a change would do.

Nothing is changed here, except that a log is loaded when it is first used.
"""

import random
from collections.abc import Callable, Generator, Mapping
from functools import partial

from broker_lite.control.cluster.features import (
    METADATA_VERSION,
    METADATA_VERSION_MIN,
    Supported,
    supported_features,
)
from broker_lite.control.cluster.node_settings import NodeSettings
from broker_lite.control.cluster.stale_view import MetadataView, StaleView
from broker_lite.control.metadata.brokers import BrokerRegistrations
from broker_lite.control.metadata.image import MetadataImage
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.rounds import Rounds
from broker_lite.control.topics.partition_logs import PartitionLogs
from broker_lite.control.topics.placements import Ahead, ahead
from broker_lite.control.topics.slow_topics import SlowTopics
from broker_lite.control.topics.topic_rules import (
    PARTITIONS_PER_REQUEST_MAX,
    Defaults,
    Growth,
    GrowthPlan,
    NewTopic,
    TopicPlan,
    growth_places,
    plan_growth,
    plan_topic,
    topic_places,
)
from broker_lite.control.users.acl_table import AclTable
from broker_lite.control.users.credential_rules import Credentials
from broker_lite.control.users.delegation_tokens import DelegationTokens
from broker_lite.control.users.quota_rules import Entity
from broker_lite.errors import UnknownTopicOrPartition
from broker_lite.log.canned.runs import CannedRuns
from broker_lite.log.directory.manager import LogManager
from broker_lite.log.log import Log
from broker_lite.log.validate.validated import ValidationConfig
from broker_lite.settings import RELEASES, Settings, TopicConfig, validate_topic_configs
from broker_lite.settings.per_node import releases


class ClusterView:
    """The read-only part of a cluster.

    Attributes:
        node_id: of the first broker of this process; its data directory is the one on disk.
        node_ids: of all brokers of this process.
        all_node_ids: of all brokers of the cluster.
        settings: the first broker's, with the dynamic ones in force; see settings_of().
        logs: the logs of all partitions, for flushes, checkpoints and the cleaner.
        rounds: gives requests their turn when very many come, or are woken, at once.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        image: MetadataImage,
        logs: LogManager,
        partition_logs: PartitionLogs,
        chance: random.Random,
    ) -> None:
        self.node_id: int = settings.node_id
        self.node_ids = range(self.node_id, self.node_id + settings.broker_lite_brokers)
        self.all_node_ids = range(self.node_id, self.node_id + settings.broker_count)
        self._node_settings = NodeSettings(settings, image)
        self.settings = self._node_settings.static(self.node_id)
        self._releases = releases(settings)
        self.logs = logs
        self.rounds = Rounds()
        self._image = image
        self._logs = partition_logs
        self._chance = chance
        self._stale_views: dict[int, StaleView] = {}

    @property
    def cluster_id(self) -> str:
        """The cluster's id, of 22 characters (P-83)."""
        return self.logs.cluster_id

    def rack_of(self, node_id: int) -> str | None:
        """Return where one of the brokers of this process stands."""
        return self._node_settings.static(node_id).broker_rack

    def settings_of(self, node_id: int) -> Settings:
        """Return the settings of a broker of this process; the same object until they change."""
        return self._node_settings.of(node_id)

    def metadata_of(self, node_id: int) -> MetadataView:
        """Return what a broker of this process tells clients about topics and brokers."""
        return self._stale_views.get(node_id, self)

    def freeze_metadata(self, node_id: int) -> None:
        """Let a broker tell clients what the metadata is now, whatever changes."""
        self._stale_views[node_id] = StaleView(self)

    def thaw_metadata(self, node_id: int) -> None:
        """Let a broker tell clients what the metadata is; nothing happens if it does so already."""
        self._stale_views.pop(node_id, None)

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
    def quota_counts(self) -> Mapping[tuple[str, tuple[str, ...]], int]:
        """How many entities have a quota, by its key and the types of the entity; a live view."""
        return self._image.quota_counts

    @property
    def quota_changes(self) -> int:
        """A number that grows with each change of a quota."""
        return self._image.quota_changes

    @property
    def client_metrics_changes(self) -> int:
        """How often a config of a subscription to client metrics has changed."""
        return self._image.client_metrics_changes

    @property
    def scram_credentials(self) -> Credentials:
        """The credentials of users; a live view."""
        return self._image.scram_credentials

    @property
    def acls(self) -> AclTable:
        """All ACLs, whether an authorizer uses them or not."""
        return self._image.acls

    @property
    def delegation_tokens(self) -> DelegationTokens:
        """The delegation tokens."""
        return self._image.delegation_tokens

    @property
    def metadata_version(self) -> int:
        """The level of metadata.version, which decides on the format of records."""
        return self.features.get(METADATA_VERSION, METADATA_VERSION_MIN)

    @property
    def supported_features(self) -> Supported:
        """The features and levels that all brokers support: those of the oldest release."""
        return supported_features(min(self._releases, key=RELEASES.index))

    def supported_features_of(self, node_id: int) -> Supported:
        """Return the features and levels that a broker of this process supports."""
        return supported_features(self._releases[node_id - self.node_id])

    @property
    def canned_runs(self) -> CannedRuns:
        """What synthetic topics consist of."""
        return self._logs.runs

    @property
    def slow_topics(self) -> SlowTopics:
        """The topics that are slow, as over a network."""
        return self._logs.slow_topics

    def log(self, topic_name: str, partition: int) -> Log:
        """Return the log of a partition.

        Raises:
            UnknownTopicOrPartition: there is no such partition.
            NotLeaderOrFollower: it is in another process.
            KafkaStorageError: the log cannot be loaded.
        """
        log = self._logs.loaded.get((topic_name, partition))
        return log if log is not None else self._logs.load(topic_name, partition)

    def loaded_logs(self) -> list[Log]:
        """Return the logs of partitions that are in use."""
        return [*self._logs.loaded.values()]

    def loaded_log(self, topic_name: str, partition: int) -> Log | None:
        """Return the log of a partition if it is in use, else None."""
        return self._logs.loaded.get((topic_name, partition))

    def when_loaded(self, callback: Callable[[Log], None]) -> None:
        """Have a function called with each log that is loaded from now on."""
        self._logs.when_loaded = callback

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

    # -- plans

    def plan_topic(self, new: NewTopic) -> TopicPlan:
        """Check a new topic and return its plan, without creating it.

        Raises:
            BrokerError: the topic cannot be created; see topic_rules.plan_topic.

        Rule: P-106.
        See: P-102 to P-105.
        """
        check_configs = partial(validate_topic_configs, self.settings)
        return plan_topic(self._image, new, self._defaults(), check_configs)

    def place_topic_ahead(self, new: NewTopic) -> Generator[None, None, Ahead]:
        """Find places for the partitions of a new topic in slices, before plan_topic()."""
        places = topic_places(self._image, new, self._defaults())
        return ahead(self._image.brokers, places, self.metadata_version)

    def plan_growth(self, growth: Growth, room: int = PARTITIONS_PER_REQUEST_MAX) -> GrowthPlan:
        """Check that a topic may have this many partitions, without adding them.

        Raises:
            BrokerError: it may not; see topic_rules.plan_growth.

        See: P-111.
        """
        return plan_growth(self._image, growth, self._chance, room)

    def place_growth_ahead(
        self, growth: Growth, room: int = PARTITIONS_PER_REQUEST_MAX
    ) -> Generator[None, None, Ahead | None]:
        """Find places for the partitions of a topic that grows in slices, before plan_growth().

        Returns:
            None if there is no such topic.
        """
        topic = self._image.topics.get(growth.name)
        if topic is None:
            return None
        places = growth_places(self._image, topic, growth, self._chance, room)
        return (
            yield from ahead(
                self._image.brokers, places, self.metadata_version, topic.partition_count
            )
        )

    def _defaults(self) -> Defaults:
        settings = self.settings
        return Defaults(settings.num_partitions, settings.default_replication_factor, self._chance)
