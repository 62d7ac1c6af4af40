"""The cluster's metadata in memory: the result of applying all records of the metadata log.

Only `apply` changes an image, so a replay at the start gives the same image as before. Kinds of
records that this broker does not use are skipped; they stay in the log.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from broker_lite.control.metadata import metadata_records as kinds
from broker_lite.control.metadata.brokers import BrokerRegistrations
from broker_lite.control.metadata.metadata_records import (
    MetadataChange,
    PartitionRecords,
    Placement,
)
from broker_lite.control.metadata.topic import PartitionRegistration, Topic
from broker_lite.control.metadata.topic_names import INTERNAL_TOPICS, collision_key
from broker_lite.control.users.acl_table import AclTable
from broker_lite.control.users.credential_rules import ScramCredential
from broker_lite.control.users.delegation_tokens import DelegationTokens
from broker_lite.control.users.quota_rules import Entity, entity_of
from broker_lite.wire import messages

TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
CLIENT_METRICS_RESOURCE: Final = 16
GROUP_RESOURCE: Final = 32

_NO_CONFIGS: Final[Mapping[str, str]] = MappingProxyType({})
_NO_LEADER_CHANGE: Final = -2
_RECOVERY_STATES: Final = (0, 1)
_RECOVERING: Final = 1
# More values than this are not looked up: so many brokers are not there.
_SHARED_MAX: Final = 10_000


class MetadataImage:
    """Topics, configs, features, quotas and so on, after the last applied record.

    `topics` and `topics_by_id` have the same values. `version` counts applied batches: data that is
    derived from an image is valid as long as the version stays the same.
    """

    def __init__(self) -> None:
        self.topics: dict[str, Topic] = {}
        self.topics_by_id: dict[bytes, Topic] = {}
        self.features: dict[str, int] = {}
        self.client_quotas: dict[Entity, dict[str, float]] = {}
        # how many entities have a quota, by its key and the types of the entity
        self.quota_counts: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self.quota_changes = 0
        self.client_metrics_changes = 0
        self.scram_credentials: dict[tuple[str, int], ScramCredential] = {}
        self.acls = AclTable()
        self.delegation_tokens = DelegationTokens()
        self.next_producer_id = 0
        self.brokers = BrokerRegistrations()
        self.version = 0
        self._configs: dict[tuple[int, str], Mapping[str, str]] = {}
        self._names_by_collision_key: dict[str, str] = {}
        self._drafts: dict[bytes, tuple[str, list[PartitionRegistration]]] = {}
        self._shared: dict[PartitionRegistration, PartitionRegistration] = {}
        self._apply_by_kind: Mapping[int, Callable[[Any], None]] = {
            **self.brokers.apply_by_kind,
            kinds.TOPIC: self._topic,
            kinds.PARTITION: self._partition,
            kinds.CONFIG: self._config,
            kinds.PARTITION_CHANGE: self._partition_change,
            kinds.REMOVE_TOPIC: self._remove_topic,
            kinds.FEATURE_LEVEL: self._feature_level,
            kinds.PRODUCER_IDS: self._producer_ids,
            kinds.CLIENT_QUOTA: self._client_quota,
            kinds.USER_SCRAM_CREDENTIAL: self._scram_credential,
            kinds.REMOVE_USER_SCRAM_CREDENTIAL: self._no_scram_credential,
            kinds.ACCESS_CONTROL_ENTRY: self.acls.apply_entry,
            kinds.REMOVE_ACCESS_CONTROL_ENTRY: self.acls.apply_removal,
            kinds.DELEGATION_TOKEN: self.delegation_tokens.apply,
            kinds.REMOVE_DELEGATION_TOKEN: self.delegation_tokens.apply_removal,
            kinds.CLEAR_ELR: self._clear_eligible,
        }

    def broker_epoch(self, node_id: int) -> int:
        """The epoch of a broker; -1 if it has never registered."""
        broker = self.brokers.by_id.get(node_id)
        return -1 if broker is None else broker.epoch

    def configs(self, resource_type: int, resource_name: str) -> Mapping[str, str]:
        """Return the configs that are set on a resource, as an immutable mapping, maybe empty."""
        return self._configs.get((resource_type, resource_name), _NO_CONFIGS)

    def configured(self, resource_type: int) -> list[str]:
        """Return the names of the resources of a type that have configs."""
        return [name for kind, name in self._configs if kind == resource_type]

    def colliding_topic(self, name: str) -> str | None:
        """Return the topic whose name collides with this one, or None if there is none.

        See: P-101.
        """
        return self._names_by_collision_key.get(collision_key(name))

    def apply(self, records: Iterable[MetadataChange]) -> None:
        """Apply the records of one batch, in order."""
        for record in records:
            if isinstance(record, PartitionRecords):
                self._new_partitions(record)
                continue
            apply_one = self._apply_by_kind.get(record.api_key)
            if apply_one is not None:
                apply_one(record.value)
        for topic_id, (name, partitions) in self._drafts.items():
            self._store(name, topic_id, tuple(partitions))
        self._drafts.clear()
        self.version += 1

    def _store(
        self, name: str, topic_id: bytes, partitions: tuple[PartitionRegistration, ...]
    ) -> None:
        topic = Topic(
            name=name,
            topic_id=topic_id,
            partitions=partitions,
            overrides=self.configs(TOPIC_RESOURCE, name),
            is_internal=name in INTERNAL_TOPICS,
        )
        self.topics[name] = topic
        self.topics_by_id[topic_id] = topic
        self._names_by_collision_key[collision_key(name)] = name

    def _draft(self, topic_id: bytes) -> list[PartitionRegistration] | None:
        """The partitions of a topic, to change; None for a topic that is not there (any more).

        So a batch of 10,000 partitions makes one tuple, not 10,000.
        """
        draft = self._drafts.get(topic_id)
        if draft is None:
            topic = self.topics_by_id.get(topic_id)
            if topic is None:
                return None
            draft = self._drafts[topic_id] = (topic.name, list(topic.partitions))
        return draft[1]

    def _share(self, partition: PartitionRegistration) -> PartitionRegistration:
        """Return the one value of all partitions that are like this one."""
        if len(self._shared) >= _SHARED_MAX:
            self._shared.clear()
        return self._shared.setdefault(partition, partition)

    def _topic(self, record: messages.TopicRecord) -> None:
        self._drafts[bytes(record.topic_id)] = (record.name, [])

    def _partition(self, record: messages.PartitionRecord) -> None:
        partitions = self._draft(bytes(record.topic_id))
        if partitions is None:
            return
        partition = self._share(
            PartitionRegistration(
                record.leader,
                record.leader_epoch,
                tuple(record.replicas),
                tuple(record.isr),
                tuple(record.eligible_leader_replicas or ()),
                tuple(record.last_known_elr or ()),
                record.partition_epoch,
                record.leader_recovery_state == _RECOVERING,
                tuple(record.adding_replicas),
                tuple(record.removing_replicas),
            )
        )
        # partitions come in order; a gap cannot occur in a log that a controller wrote
        if record.partition_id == len(partitions):
            partitions.append(partition)
        elif record.partition_id < len(partitions):
            partitions[record.partition_id] = partition

    def _new_partitions(self, records: PartitionRecords) -> None:
        """Add partitions behind those that there are."""
        partitions = self._draft(records.topic_id)
        assert partitions is not None
        assert len(partitions) == records.first_index
        made: dict[Placement, PartitionRegistration] = {}
        for placement in records.placements:
            partition = made.get(placement)
            if partition is None:
                replicas, isr, _ = placement
                partition = self._share(PartitionRegistration(isr[0], 0, replicas, isr))
                made[placement] = partition
            partitions.append(partition)

    def _partition_change(self, record: messages.PartitionChangeRecord) -> None:
        """Source: PartitionRegistration.merge."""
        partitions = self._draft(bytes(record.topic_id))
        if partitions is None or record.partition_id >= len(partitions):
            return
        before = partitions[record.partition_id]
        leader, leader_epoch = before.leader, before.leader_epoch
        if record.leader != _NO_LEADER_CHANGE:
            leader, leader_epoch = record.leader, leader_epoch + 1
        recovery = record.leader_recovery_state
        partitions[record.partition_id] = self._share(
            PartitionRegistration(
                leader,
                leader_epoch,
                _changed(before.replicas, record.replicas),
                _changed(before.isr, record.isr),
                _changed(before.eligible, record.eligible_leader_replicas),
                _changed(before.last_leader, record.last_known_elr),
                before.partition_epoch + 1,
                before.is_recovering
                if recovery not in _RECOVERY_STATES
                else recovery == _RECOVERING,
                _changed(before.adding, record.adding_replicas),
                _changed(before.removing, record.removing_replicas),
            )
        )

    def _clear_eligible(self, record: messages.ClearElrRecord) -> None:
        """Forget the eligible and last leaders of a topic, or of all if the name is empty.

        Source: TopicsDelta.replay.
        """
        for topic in [*self.topics.values()]:
            if record.topic_name in ("", topic.name):
                partitions = self._draft(topic.topic_id)
                assert partitions is not None
                partitions[:] = [
                    self._share(one._replace(eligible=(), last_leader=())) for one in partitions
                ]

    def _remove_topic(self, record: messages.RemoveTopicRecord) -> None:
        topic_id = bytes(record.topic_id)
        draft = self._drafts.pop(topic_id, None)
        topic = self.topics_by_id.pop(topic_id, None)
        name = topic.name if topic is not None else draft[0] if draft is not None else None
        if name is None:
            return
        self._configs.pop((TOPIC_RESOURCE, name), None)
        self.topics.pop(name, None)
        self._names_by_collision_key.pop(collision_key(name), None)

    def _config(self, record: messages.ConfigRecord) -> None:
        key = (record.resource_type, record.resource_name)
        configs = dict(self._configs.get(key, _NO_CONFIGS))
        if record.value is None:
            configs.pop(record.name, None)
        else:
            configs[record.name] = record.value
        if configs:
            self._configs[key] = MappingProxyType(configs)
        else:
            self._configs.pop(key, None)
        if record.resource_type == CLIENT_METRICS_RESOURCE:
            self.client_metrics_changes += 1
        if record.resource_type == TOPIC_RESOURCE and record.resource_name in self.topics:
            topic = self.topics[record.resource_name]
            self._store(topic.name, topic.topic_id, topic.partitions)

    def _feature_level(self, record: messages.FeatureLevelRecord) -> None:
        if record.feature_level > 0:
            self.features[record.name] = record.feature_level
        else:
            self.features.pop(record.name, None)

    def _producer_ids(self, record: messages.ProducerIdsRecord) -> None:
        self.next_producer_id = record.next_producer_id

    def _client_quota(self, record: messages.ClientQuotaRecord) -> None:
        entity = entity_of([(one.entity_type, one.entity_name) for one in record.entity])
        values = self.client_quotas.setdefault(entity, {})
        had = record.key in values
        if record.remove:
            values.pop(record.key, None)
        else:
            values[record.key] = record.value
        self.quota_counts[record.key, tuple(kind for kind, _ in entity)] += (
            record.key in values
        ) - had
        self.quota_changes += 1
        if not values:
            del self.client_quotas[entity]

    def _scram_credential(self, record: messages.UserScramCredentialRecord) -> None:
        self.scram_credentials[record.name, record.mechanism] = ScramCredential(
            salt=record.salt,
            stored_key=record.stored_key,
            server_key=record.server_key,
            iterations=record.iterations,
        )

    def _no_scram_credential(self, record: messages.RemoveUserScramCredentialRecord) -> None:
        self.scram_credentials.pop((record.name, record.mechanism), None)


def _changed(before: tuple[int, ...], after: list[int] | None) -> tuple[int, ...]:
    return before if after is None else tuple(after)
