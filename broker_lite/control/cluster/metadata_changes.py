"""Makes the records of the metadata log for each change of the cluster, in Kafka's order."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from broker_lite.control.cluster.features import Supported
from broker_lite.control.metadata import metadata_records as kinds
from broker_lite.control.metadata.brokers import Endpoint
from broker_lite.control.metadata.image import TOPIC_RESOURCE
from broker_lite.control.metadata.metadata_records import (
    MetadataChange,
    MetadataRecord,
    PartitionRecords,
    make,
)
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.topics.topic_rules import GrowthPlan, TopicPlan
from broker_lite.control.users.credential_rules import ScramCredential
from broker_lite.control.users.delegation_tokens import DelegationToken
from broker_lite.control.users.quota_rules import Entity
from broker_lite.wire import messages

if TYPE_CHECKING:
    from broker_lite.security.acls.acl import Acl

_PLAINTEXT: Final = 0
_UNFENCE: Final = -1
_FENCE: Final = 1


def creation(plan: TopicPlan, topic_id: bytes) -> list[MetadataChange]:
    """Return the records of a new topic.

    See: P-102 (ReplicationControlManager.createTopic).
    """
    return [
        make(kinds.TOPIC, name=plan.name, topic_id=topic_id),
        *config_changes(TOPIC_RESOURCE, plan.name, plan.overrides),
        PartitionRecords(topic_id, 0, plan.placements, plan.encoded),
    ]


def growth(plan: GrowthPlan) -> PartitionRecords:
    """Return the records of partitions added to a topic.

    See: P-111 (ReplicationControlManager.createPartitions).
    """
    topic = plan.topic
    return PartitionRecords(topic.topic_id, topic.partition_count, plan.placements, plan.encoded)


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
    node_id: int,
    directory_id: bytes,
    *,
    broker_epoch: int,
    incarnation_id: bytes,
    endpoints: Sequence[Endpoint],
    rack: str | None,
    supported: Supported,
) -> MetadataRecord:
    """Return the record of a broker that comes up; it is fenced until unfencing() lets it in.

    Args:
        node_id: the broker.
        directory_id: of its data directory.
        broker_epoch: the offset of this record.
        incarnation_id: an id of this start.
        endpoints: its listeners.
        rack: of the broker.
        supported: its features.

    Source: ClusterControlManager.registerBroker, KIP-631.
    """
    return make(
        kinds.REGISTER_BROKER,
        broker_id=node_id,
        incarnation_id=incarnation_id,
        broker_epoch=broker_epoch,
        end_points=_endpoints(endpoints),
        features=_features(supported),
        rack=rack,
        fenced=True,
        log_dirs=[directory_id],
    )


def unfencing(node_id: int, broker_epoch: int) -> MetadataRecord:
    """Return the record that lets a broker in: clients see it, and it may lead.

    Source: ReplicationControlManager.handleBrokerUnfenced.
    """
    return make(
        kinds.BROKER_REGISTRATION_CHANGE,
        broker_id=node_id,
        broker_epoch=broker_epoch,
        fenced=_UNFENCE,
    )


def controlled_shutdown(node_id: int, broker_epoch: int) -> MetadataRecord:
    """Return the record of a broker that is about to stop and gives away what it leads.

    Source: ReplicationControlManager.handleBrokerInControlledShutdown.
    """
    return make(
        kinds.BROKER_REGISTRATION_CHANGE,
        broker_id=node_id,
        broker_epoch=broker_epoch,
        in_controlled_shutdown=1,
    )


def unregistration(node_id: int, broker_epoch: int) -> MetadataRecord:
    """Return the record of a broker that will not come back.

    Source: ReplicationControlManager.handleUnregisterBroker.
    """
    return make(kinds.UNREGISTER_BROKER, broker_id=node_id, broker_epoch=broker_epoch)


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


def fencing(node_id: int, broker_epoch: int) -> MetadataRecord:
    """Return the record of a broker that is gone: clients do not see it, and it leads nothing.

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


def acl_creation(acl_id: bytes, acl: "Acl") -> MetadataRecord:
    """Return the record of a new ACL.

    Source: StandardAclWithId.toRecord.
    """
    return make(
        kinds.ACCESS_CONTROL_ENTRY,
        id=acl_id,
        resource_type=int(acl.resource_type),
        resource_name=acl.name,
        pattern_type=int(acl.pattern_type),
        principal=acl.principal,
        host=acl.host,
        operation=int(acl.operation),
        permission_type=int(acl.permission),
    )


def acl_removal(acl_id: bytes) -> MetadataRecord:
    """Return the record that removes an ACL.

    Source: AclControlManager.deleteAclsForFilter.
    """
    return make(kinds.REMOVE_ACCESS_CONTROL_ENTRY, id=acl_id)


def token_change(token: DelegationToken) -> MetadataRecord:
    """Return the record of a new delegation token, or of one whose end has changed.

    Source: DelegationTokenData.toRecord.
    """
    return make(
        kinds.DELEGATION_TOKEN,
        owner=str(token.owner),
        requester=str(token.requester),
        renewers=list(map(str, token.renewers)),
        issue_timestamp=token.issue_ms,
        max_timestamp=token.max_ms,
        expiration_timestamp=token.expiry_ms,
        token_id=token.token_id,
    )


def token_removal(token_id: str) -> MetadataRecord:
    """Return the record that removes a delegation token."""
    return make(kinds.REMOVE_DELEGATION_TOKEN, token_id=token_id)
