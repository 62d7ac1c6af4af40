"""Makes the records of the metadata log for each change of the cluster, in Kafka's order."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from broker_lite.control.cluster.features import Supported
from broker_lite.control.metadata import metadata_records as kinds
from broker_lite.control.metadata.image import TOPIC_RESOURCE
from broker_lite.control.metadata.metadata_records import (
    MetadataChange,
    MetadataRecord,
    PartitionRecords,
    make,
)
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.topics.topic_rules import TopicPlan
from broker_lite.control.users.credential_rules import ScramCredential
from broker_lite.control.users.quota_rules import Entity
from broker_lite.wire import messages

_PLAINTEXT: Final = 0
_UNFENCE: Final = -1
_FENCE: Final = 1


class Replica(NamedTuple):
    """The place of this node's replicas: the ids of the node and of its data directory."""

    node_id: int
    directory_id: bytes


class Endpoint(NamedTuple):
    """A listener, as registered in the cluster."""

    name: str
    host: str
    port: int


def creation(plan: TopicPlan, topic_id: bytes, replica: Replica) -> list[MetadataChange]:
    """Return the records of a new topic.

    See: P-102 (ReplicationControlManager.createTopic).
    """
    return [
        make(kinds.TOPIC, name=plan.name, topic_id=topic_id),
        *config_changes(TOPIC_RESOURCE, plan.name, plan.overrides),
        _partitions(topic_id, range(plan.partition_count), replica),
    ]


def growth(topic: Topic, count: int, replica: Replica) -> PartitionRecords:
    """Return the records of partitions that are added to a topic.

    See: P-111 (ReplicationControlManager.createPartitions).
    """
    return _partitions(topic.topic_id, range(topic.partition_count, count), replica)


def _partitions(topic_id: bytes, indexes: range, replica: Replica) -> PartitionRecords:
    first = make(
        kinds.PARTITION,
        partition_id=indexes.start,
        topic_id=topic_id,
        replicas=[replica.node_id],
        isr=[replica.node_id],
        leader=replica.node_id,
        leader_epoch=0,
        partition_epoch=0,
        directories=[replica.directory_id],
    )
    return PartitionRecords(first.value, indexes)


def removal(topic: Topic) -> MetadataRecord:
    """Return the record that removes a topic with its partitions and configs."""
    return make(kinds.REMOVE_TOPIC, topic_id=topic.topic_id)


def config_changes(
    resource_type: int, resource_name: str, values: Mapping[str, str | None]
) -> list[MetadataRecord]:
    """Return the records that set configs of a resource; None removes a config."""
    return [
        make(
            kinds.CONFIG,
            resource_type=resource_type,
            resource_name=resource_name,
            name=name,
            value=value,
        )
        for name, value in values.items()
    ]


def producer_ids(node_id: int, broker_epoch: int, next_producer_id: int) -> MetadataRecord:
    """Return the record that reserves the producer ids below next_producer_id.

    See: T-15 (ProducerIdControlManager).
    """
    return make(
        kinds.PRODUCER_IDS,
        broker_id=node_id,
        broker_epoch=broker_epoch,
        next_producer_id=next_producer_id,
    )


def registration(
    replica: Replica,
    *,
    broker_epoch: int,
    incarnation_id: bytes,
    endpoints: Sequence[Endpoint],
    rack: str | None,
    supported: Supported,
) -> list[MetadataRecord]:
    """Return the records of a broker that starts, and that is unfenced at once.

    Args:
        replica: the broker.
        broker_epoch: the offset of the first of these records.
        incarnation_id: a new id for each start.
        endpoints: its listeners.
        rack: of the broker.
        supported: its features.

    Source: ClusterControlManager.registerBroker, KIP-631.
    """
    return [
        make(
            kinds.REGISTER_BROKER,
            broker_id=replica.node_id,
            incarnation_id=incarnation_id,
            broker_epoch=broker_epoch,
            end_points=_endpoints(endpoints),
            features=_features(supported),
            rack=rack,
            fenced=True,
            log_dirs=[replica.directory_id],
        ),
        make(
            kinds.BROKER_REGISTRATION_CHANGE,
            broker_id=replica.node_id,
            broker_epoch=broker_epoch,
            fenced=_UNFENCE,
        ),
    ]


def _endpoints(
    endpoints: Sequence[Endpoint],
) -> "list[messages.RegisterBrokerRecord.BrokerEndpoint]":
    endpoint = messages.RegisterBrokerRecord.BrokerEndpoint
    return [
        endpoint(name=one.name, host=one.host, port=one.port, security_protocol=_PLAINTEXT)
        for one in endpoints
    ]


def _features(supported: Supported) -> "list[messages.RegisterBrokerRecord.BrokerFeature]":
    feature = messages.RegisterBrokerRecord.BrokerFeature
    return [
        feature(name=name, min_supported_version=one.min_level, max_supported_version=one.max_level)
        for name, one in supported.items()
    ]


def departure(node_id: int, broker_epoch: int) -> MetadataRecord:
    """Return the record of a broker that stops; without it, Kafka waits for its session to end.

    Source: ReplicationControlManager.handleBrokerFenced.
    """
    return make(
        kinds.BROKER_REGISTRATION_CHANGE,
        broker_id=node_id,
        broker_epoch=broker_epoch,
        fenced=_FENCE,
    )


def quota_changes(entity: Entity, values: Mapping[str, float | None]) -> list[MetadataRecord]:
    """Return the records that set quotas of an entity; None removes a quota.

    Source: ClientQuotaControlManager.alterClientQuotaEntity.
    """
    part = messages.ClientQuotaRecord.EntityData
    return [
        make(
            kinds.CLIENT_QUOTA,
            entity=[part(entity_type=kind, entity_name=name) for kind, name in entity],
            key=key,
            value=0.0 if value is None else value,
            remove=value is None,
        )
        for key, value in values.items()
    ]


def credential_change(
    name: str, mechanism: int, credential: ScramCredential | None
) -> MetadataRecord:
    """Return the record that sets a user's credential, or removes it if it is None.

    Source: ScramControlManager.
    """
    if credential is None:
        return make(kinds.REMOVE_USER_SCRAM_CREDENTIAL, name=name, mechanism=mechanism)
    return make(kinds.USER_SCRAM_CREDENTIAL, name=name, mechanism=mechanism, **credential._asdict())
