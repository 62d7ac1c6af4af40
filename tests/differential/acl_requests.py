"""Random requests of all APIs, about a few names of which the users have rights to some.

A request is made for each side, because ids of topics differ.
"""

import random
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from broker_lite.wire import messages
from tests.differential.batches import BatchSpec, RecordSpec

TOPICS: Final = ("a-1", "a-2", "b-1", "c")
MISSING: Final = ("a-none", "b-none", "none")
MADE: Final = ("a-made", "b-made", "made")
"""Topics that come and go."""
INVALID: Final = ("in/valid",)
GROUPS: Final = ("g-1", "g-2", "h", "x*")
TRANSACTIONAL_IDS: Final = ("tx-1", "tx-2", "ty")
NO_SUCH_ID: Final = b"\x07" * 16

_TOPIC, _BROKER, _GROUP = 2, 4, 32

Ids = Mapping[str, bytes]
Build = Callable[[Ids], Any]
"""Makes a request for a side, by the ids of its topics."""


class Ask(NamedTuple):
    """A request of an API in a version."""

    name: str
    version: int
    build: Build


def _id_of(ids: Ids, name: str) -> bytes:
    return ids.get(name, NO_SUCH_ID)


class AclRequests:
    """Makes requests by chance.

    Attributes:
        apis: names of the APIs that are asked.
    """

    def __init__(self, chance: random.Random, versions: Mapping[str, tuple[int, int]]) -> None:
        """Keep what is needed.

        Args:
            chance: makes the same requests for the same seed.
            versions: lowest and highest version of each API that both sides have.
        """
        self._chance = chance
        self._versions = versions
        self._makers: Mapping[str, Callable[[int], Build]] = {
            name: getattr(self, f"_{_snake(name)}") for name in API_NAMES
        }
        self.apis = [name for name in API_NAMES if name in versions]

    def ask(self, name: str | None = None) -> Ask:
        """Make a request of an API, or of any."""
        name = name or self._chance.choice(self.apis)
        low, high = self._versions[name]
        version = self._chance.choice((high, high, self._chance.randint(low, high)))
        return Ask(name, version, self._makers[name](version))

    # -- what is asked about

    def _some(self, *of: str, low: int = 1, high: int = 3) -> list[str]:
        count = self._chance.randint(low, min(high, len(of)))
        return self._chance.sample(of, count)

    def _topics(self) -> list[str]:
        return self._some(*TOPICS, *TOPICS[:1], *MISSING[:2], *MADE[:2])

    def _known(self) -> list[str]:
        return self._some(*TOPICS, *MISSING[:2])

    def _flag(self) -> bool:
        return self._chance.random() < 0.5

    def _group(self) -> str:
        return self._chance.choice(GROUPS)

    def _transactional_id(self) -> str:
        return self._chance.choice(TRANSACTIONAL_IDS)

    def _partitions(self) -> list[int]:
        return self._chance.choice(([0], [0, 1], [0, 1, 7]))

    # -- data

    def _produce(self, version: int) -> Build:
        kind = messages.ProduceRequest
        names = self._known()
        transactional = self._chance.random() < 0.2
        producer_id, epoch = (9999, 0) if transactional or self._chance.random() < 0.3 else (-1, -1)
        batch = BatchSpec(
            records=(RecordSpec(value=b"v"),),
            attributes=16 if transactional else 0,
            base_timestamp=1_700_000_000_000,
            base_sequence=0 if producer_id >= 0 else -1,
            producer_id=producer_id,
            producer_epoch=epoch,
        ).encode()
        tx = self._transactional_id() if transactional else None
        indexes = self._partitions()

        def build(ids: Ids) -> Any:
            topics = [
                kind.TopicProduceData(
                    **({"topic_id": _id_of(ids, name)} if version >= 13 else {"name": name}),
                    partition_data=[
                        kind.PartitionProduceData(index=index, records=batch) for index in indexes
                    ],
                )
                for name in names
            ]
            return kind(transactional_id=tx, acks=-1, timeout_ms=5000, topic_data=topics)

        return build

    def _fetch(self, version: int) -> Build:
        kind = messages.FetchRequest
        names, indexes = self._topics(), self._partitions()

        def build(ids: Ids) -> Any:
            topics = [
                kind.FetchTopic(
                    **({"topic_id": _id_of(ids, name)} if version >= 13 else {"topic": name}),
                    partitions=[
                        kind.FetchPartition(partition=index, partition_max_bytes=1)
                        for index in indexes
                    ],
                )
                for name in names
            ]
            replica = {} if version >= 15 else {"replica_id": -1}
            return kind(max_wait_ms=0, max_bytes=1000, session_epoch=-1, topics=topics, **replica)

        return build

    def _list_offsets(self, version: int) -> Build:
        kind = messages.ListOffsetsRequest
        topics = [
            kind.ListOffsetsTopic(
                name=name,
                partitions=[
                    kind.ListOffsetsPartition(partition_index=index, timestamp=-2)
                    for index in self._partitions()
                ],
            )
            for name in self._topics()
        ]
        return lambda _: kind(replica_id=-1, topics=topics)

    def _offset_for_leader_epoch(self, version: int) -> Build:
        kind = messages.OffsetForLeaderEpochRequest
        topics = [
            kind.OffsetForLeaderTopic(
                topic=name, partitions=[kind.OffsetForLeaderPartition(partition=0, leader_epoch=0)]
            )
            for name in self._topics()
        ]
        return lambda _: kind(replica_id=-1, topics=topics)

    def _delete_records(self, version: int) -> Build:
        kind = messages.DeleteRecordsRequest
        topics = [
            kind.DeleteRecordsTopic(
                name=name,
                partitions=[kind.DeleteRecordsPartition(partition_index=0, offset=0)],
            )
            for name in self._topics()
        ]
        return lambda _: kind(timeout_ms=5000, topics=topics)

    # -- topics

    def _metadata(self, version: int) -> Build:
        kind = messages.MetadataRequest
        what = self._chance.choice(("all", "names", "names", "ids"))
        names = self._topics() + self._some(*INVALID, low=0)
        fields: dict[str, Any] = {}
        if version >= 4:
            fields["allow_auto_topic_creation"] = self._chance.random() < 0.3
        if version >= 8:
            fields["include_topic_authorized_operations"] = self._flag()
            if version <= 10:
                fields["include_cluster_authorized_operations"] = self._flag()
        if what == "ids" and version >= 12:

            def build(ids: Ids) -> Any:
                topics = [
                    kind.MetadataRequestTopic(name=None, topic_id=_id_of(ids, name))
                    for name in names
                ]
                return kind(topics=topics, **fields)

            return build
        if what == "all":
            return lambda _: kind(topics=None, **fields)
        return lambda _: kind(
            topics=[kind.MetadataRequestTopic(name=name) for name in names], **fields
        )

    def _describe_topic_partitions(self, version: int) -> Build:
        kind = messages.DescribeTopicPartitionsRequest
        names = self._topics() if self._flag() else []
        topics = [kind.TopicRequest(name=name) for name in names]
        limit = self._chance.choice((1, 2, 3, 5, 2000))
        cursor = None
        if self._chance.random() < 0.4:
            cursor = kind.Cursor(topic_name=self._chance.choice(names or TOPICS), partition_index=0)
        return lambda _: kind(topics=topics, response_partition_limit=limit, cursor=cursor)

    def _create_topics(self, version: int) -> Build:
        kind = messages.CreateTopicsRequest
        names = self._some(*MADE, *TOPICS[:2], *INVALID, "__cluster_metadata")
        names += names[:1] if self._chance.random() < 0.2 else []
        topics = [
            kind.CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names
        ]
        validate = self._chance.random() < 0.6
        return lambda _: kind(topics=topics, timeout_ms=10_000, validate_only=validate)

    def _delete_topics(self, version: int) -> Build:
        kind = messages.DeleteTopicsRequest
        names = self._some(*MADE, *MADE, *MISSING)
        if version < 6:
            return lambda _: kind(topic_names=names, timeout_ms=10_000)
        by_id = [self._flag() for _ in names]

        def build(ids: Ids) -> Any:
            topics = [
                kind.DeleteTopicState(name=None, topic_id=_id_of(ids, name))
                if is_by_id
                else kind.DeleteTopicState(name=name)
                for name, is_by_id in zip(names, by_id, strict=True)
            ]
            return kind(topics=topics, timeout_ms=10_000)

        return build

    def _create_partitions(self, version: int) -> Build:
        kind = messages.CreatePartitionsRequest
        names = self._topics()
        names += names[:1] if self._chance.random() < 0.2 else []
        topics = [
            kind.CreatePartitionsTopic(name=name, count=3, assignments=None) for name in names
        ]
        return lambda _: kind(topics=topics, timeout_ms=5000, validate_only=True)

    # -- configs

    def _resources(self) -> list[tuple[int, str]]:
        of = [(_TOPIC, name) for name in (*TOPICS, *MISSING[:1], *INVALID)]
        of += [(_GROUP, name) for name in GROUPS[:3]]
        of += [(_BROKER, "1"), (_BROKER, ""), (_BROKER, "7")]
        return self._chance.sample(of, self._chance.randint(1, 4))

    def _describe_configs(self, version: int) -> Build:
        kind = messages.DescribeConfigsRequest
        keys = ["cleanup.policy", "consumer.session.timeout.ms", "num.io.threads"]
        resources = [
            kind.DescribeConfigsResource(
                resource_type=of, resource_name=name, configuration_keys=keys
            )
            for of, name in self._resources()
        ]
        return lambda _: kind(resources=resources)

    def _change(self, of: int) -> tuple[str, str | None]:
        value = self._chance.choice(("1000", "1000", "x", None))
        name = {_TOPIC: "retention.ms", _GROUP: "consumer.session.timeout.ms"}
        return name.get(of, "log.retention.ms"), "50000" if value == "1000" else value

    def _alter_configs(self, version: int) -> Build:
        kind = messages.AlterConfigsRequest
        resources = []
        for of, resource in self._resources():
            name, value = self._change(of)
            resources.append(
                kind.AlterConfigsResource(
                    resource_type=of,
                    resource_name=resource,
                    configs=[kind.AlterableConfig(name=name, value=value)],
                )
            )
        return lambda _: kind(resources=resources, validate_only=True)

    def _incremental_alter_configs(self, version: int) -> Build:
        kind = messages.IncrementalAlterConfigsRequest
        resources = []
        for of, resource in self._resources():
            name, value = self._change(of)
            config = kind.AlterableConfig(
                name=name, config_operation=self._chance.choice((0, 0, 1)), value=value
            )
            resources.append(
                kind.AlterConfigsResource(
                    resource_type=of, resource_name=resource, configs=[config]
                )
            )
        return lambda _: kind(resources=resources, validate_only=True)

    def _list_config_resources(self, version: int) -> Build:
        kind = messages.ListConfigResourcesRequest
        types = self._chance.choice(([_TOPIC], [16], [_TOPIC, _BROKER]))
        return lambda _: kind(resource_types=types)

    # -- the cluster

    def _alter_replica_log_dirs(self, version: int) -> Build:
        kind = messages.AlterReplicaLogDirsRequest
        topics = [
            kind.AlterReplicaLogDirTopic(name=name, partitions=[0, 1]) for name in self._topics()
        ]
        return lambda _: kind(dirs=[kind.AlterReplicaLogDir(path="/nowhere", topics=topics)])

    def _describe_log_dirs(self, version: int) -> Build:
        kind = messages.DescribeLogDirsRequest
        topics = [
            kind.DescribableLogDirTopic(topic=name, partitions=[0]) for name in self._topics()
        ]
        return lambda _: kind(topics=topics)

    def _elect_leaders(self, version: int) -> Build:
        kind = messages.ElectLeadersRequest
        topics = [kind.TopicPartitions(topic=name, partitions=[0]) for name in self._topics()]
        asked = topics if self._flag() else None
        return lambda _: kind(topic_partitions=asked, timeout_ms=5000)

    def _alter_partition_reassignments(self, version: int) -> Build:
        kind = messages.AlterPartitionReassignmentsRequest
        topics = [
            kind.ReassignableTopic(
                name=name,
                partitions=[kind.ReassignablePartition(partition_index=0, replicas=[1])],
            )
            for name in self._topics()
        ]
        return lambda _: kind(timeout_ms=5000, topics=topics)

    def _list_partition_reassignments(self, version: int) -> Build:
        kind = messages.ListPartitionReassignmentsRequest
        topics = [
            kind.ListPartitionReassignmentsTopics(name=name, partition_indexes=[0])
            for name in self._topics()
        ]
        asked = topics if self._flag() else None
        return lambda _: kind(timeout_ms=5000, topics=asked)

    def _describe_cluster(self, version: int) -> Build:
        asked = self._flag()
        return lambda _: messages.DescribeClusterRequest(
            include_cluster_authorized_operations=asked
        )

    def _unregister_broker(self, version: int) -> Build:
        return lambda _: messages.UnregisterBrokerRequest(broker_id=77)

    def _describe_quorum(self, version: int) -> Build:
        kind = messages.DescribeQuorumRequest
        name = self._chance.choice(("__cluster_metadata", "a-1"))
        partition = kind.PartitionData(partition_index=0)
        return lambda _: kind(topics=[kind.TopicData(topic_name=name, partitions=[partition])])

    def _update_features(self, version: int) -> Build:
        kind = messages.UpdateFeaturesRequest
        update = kind.FeatureUpdateKey(feature="nothing", max_version_level=1)
        fields = {"validate_only": True} if version >= 1 else {}
        return lambda _: kind(timeout_ms=5000, feature_updates=[update], **fields)

    def _api_versions(self, version: int) -> Build:
        return lambda _: messages.ApiVersionsRequest(
            client_software_name="t", client_software_version="1"
        )

    # -- groups

    def _find_coordinator(self, version: int) -> Build:
        kind = messages.FindCoordinatorRequest
        is_group = self._flag()
        names = self._some(*(GROUPS if is_group else TRANSACTIONAL_IDS))
        fields = {"key_type": 0 if is_group else 1} if version >= 1 else {}
        if version >= 4:
            return lambda _: kind(coordinator_keys=names, **fields)
        return lambda _: kind(key=names[0], **fields)

    def _join_group(self, version: int) -> Build:
        kind = messages.JoinGroupRequest
        group = self._group()
        protocol = kind.JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\0\0\0\0\0")
        return lambda _: kind(
            group_id=group,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=1000,
            member_id="nobody",
            protocol_type="consumer",
            protocols=[protocol],
        )

    def _sync_group(self, version: int) -> Build:
        group = self._group()
        fields = {"protocol_type": "consumer", "protocol_name": "range"} if version >= 5 else {}
        return lambda _: messages.SyncGroupRequest(
            group_id=group, generation_id=1, member_id="m", assignments=[], **fields
        )

    def _heartbeat(self, version: int) -> Build:
        group = self._group()
        return lambda _: messages.HeartbeatRequest(group_id=group, generation_id=1, member_id="m")

    def _leave_group(self, version: int) -> Build:
        kind = messages.LeaveGroupRequest
        group = self._group()
        if version < 3:
            return lambda _: kind(group_id=group, member_id="m")
        return lambda _: kind(group_id=group, members=[kind.MemberIdentity(member_id="m")])

    def _offset_commit(self, version: int) -> Build:
        kind = messages.OffsetCommitRequest
        group, names, indexes = self._group(), self._known(), self._partitions()

        def build(ids: Ids) -> Any:
            topics = [
                kind.OffsetCommitRequestTopic(
                    **({"topic_id": _id_of(ids, name)} if version >= 10 else {"name": name}),
                    partitions=[
                        kind.OffsetCommitRequestPartition(
                            partition_index=index, committed_offset=5, committed_metadata=""
                        )
                        for index in indexes
                    ],
                )
                for name in names
            ]
            return kind(
                group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=topics
            )

        return build

    def _offset_fetch(self, version: int) -> Build:
        kind = messages.OffsetFetchRequest
        groups, names, is_all = self._some(*GROUPS), self._known(), self._flag()
        stable = {"require_stable": self._flag()} if version >= 7 else {}
        if version < 8:
            topics = [
                kind.OffsetFetchRequestTopic(name=name, partition_indexes=[0, 1]) for name in names
            ]
            every = is_all and version >= 2
            return lambda _: kind(group_id=groups[0], topics=None if every else topics, **stable)

        def build(ids: Ids) -> Any:
            topics = [
                kind.OffsetFetchRequestTopics(
                    **({"topic_id": _id_of(ids, name)} if version >= 10 else {"name": name}),
                    partition_indexes=[0, 1],
                )
                for name in names
            ]
            asked = [
                kind.OffsetFetchRequestGroup(group_id=group, topics=None if is_all else topics)
                for group in groups
            ]
            return kind(groups=asked, **stable)

        return build

    def _offset_delete(self, version: int) -> Build:
        kind = messages.OffsetDeleteRequest
        group = self._group()
        topics = [
            kind.OffsetDeleteRequestTopic(
                name=name, partitions=[kind.OffsetDeleteRequestPartition(partition_index=1)]
            )
            for name in self._known()
        ]
        return lambda _: kind(group_id=group, topics=topics)

    def _describe_groups(self, version: int) -> Build:
        groups = self._some(*GROUPS)
        fields = {"include_authorized_operations": self._flag()} if version >= 3 else {}
        return lambda _: messages.DescribeGroupsRequest(groups=groups, **fields)

    def _list_groups(self, version: int) -> Build:
        return lambda _: messages.ListGroupsRequest()

    def _delete_groups(self, version: int) -> Build:
        groups = self._some(*GROUPS[:3], "nobody")
        return lambda _: messages.DeleteGroupsRequest(groups_names=groups)

    def _consumer_group_heartbeat(self, version: int) -> Build:
        group = self._group()
        names = self._known() if self._flag() else None
        regex = self._chance.choice(("a-.*", ".*", None)) if version >= 1 else None
        return lambda _: messages.ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id="m" if self._is_new(version) else "",
            member_epoch=5,
            rebalance_timeout_ms=5000,
            subscribed_topic_names=names,
            subscribed_topic_regex=regex,
            topic_partitions=[],
        )

    def _is_new(self, version: int) -> bool:
        return version >= 1

    def _consumer_group_describe(self, version: int) -> Build:
        groups, asked = self._some(*GROUPS), self._flag()
        return lambda _: messages.ConsumerGroupDescribeRequest(
            group_ids=groups, include_authorized_operations=asked
        )

    # -- transactions

    def _init_producer_id(self, version: int) -> Build:
        tx = self._transactional_id() if self._flag() else None
        return lambda _: messages.InitProducerIdRequest(
            transactional_id=tx, transaction_timeout_ms=60_000
        )

    def _add_partitions_to_txn(self, version: int) -> Build:
        kind = messages.AddPartitionsToTxnRequest
        tx = self._transactional_id()
        topics = [
            kind.AddPartitionsToTxnTopic(name=name, partitions=self._partitions())
            for name in self._known()
        ]
        if version >= 4:
            one = kind.AddPartitionsToTxnTransaction(
                transactional_id=tx,
                producer_id=9999,
                producer_epoch=0,
                verify_only=self._flag(),
                topics=topics,
            )
            return lambda _: kind(transactions=[one])
        return lambda _: kind(
            v3_and_below_transactional_id=tx,
            v3_and_below_producer_id=9999,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=topics,
        )

    def _add_offsets_to_txn(self, version: int) -> Build:
        tx, group = self._transactional_id(), self._group()
        return lambda _: messages.AddOffsetsToTxnRequest(
            transactional_id=tx, producer_id=9999, producer_epoch=0, group_id=group
        )

    def _txn_offset_commit(self, version: int) -> Build:
        kind = messages.TxnOffsetCommitRequest
        tx, group, names = self._transactional_id(), self._group(), self._known()

        def build(ids: Ids) -> Any:
            topics = [
                kind.TxnOffsetCommitRequestTopic(
                    **({"topic_id": _id_of(ids, name)} if version >= 6 else {"name": name}),
                    partitions=[
                        kind.TxnOffsetCommitRequestPartition(
                            partition_index=0, committed_offset=1, committed_metadata=""
                        )
                    ],
                )
                for name in names
            ]
            return kind(
                transactional_id=tx,
                group_id=group,
                producer_id=9999,
                producer_epoch=0,
                topics=topics,
            )

        return build

    def _end_txn(self, version: int) -> Build:
        tx = self._transactional_id()
        return lambda _: messages.EndTxnRequest(
            transactional_id=tx, producer_id=9999, producer_epoch=0, committed=True
        )

    def _write_txn_markers(self, version: int) -> Build:
        kind = messages.WriteTxnMarkersRequest
        marker = kind.WritableTxnMarker(
            producer_id=9999,
            producer_epoch=0,
            transaction_result=True,
            topics=[
                kind.WritableTxnMarkerTopic(name=name, partition_indexes=[7])
                for name in self._known()
            ],
            coordinator_epoch=0,
        )
        return lambda _: kind(markers=[marker])

    def _describe_producers(self, version: int) -> Build:
        kind = messages.DescribeProducersRequest
        topics = [
            kind.TopicRequest(name=name, partition_indexes=[0, 7])
            for name in (*self._topics(), *self._some(*INVALID, low=0))
        ]
        return lambda _: kind(topics=topics)

    def _describe_transactions(self, version: int) -> Build:
        ids = self._some(*TRANSACTIONAL_IDS)
        return lambda _: messages.DescribeTransactionsRequest(transactional_ids=ids)

    def _list_transactions(self, version: int) -> Build:
        return lambda _: messages.ListTransactionsRequest()

    # -- security

    def _describe_acls(self, version: int) -> Build:
        kind = messages.DescribeAclsRequest
        return lambda _: kind(
            resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1
        )

    def _create_acls(self, version: int) -> Build:
        kind = messages.CreateAclsRequest
        creations = [
            kind.AclCreation(
                resource_type=self._chance.choice((2, 3, 4, 99)),
                resource_name="",
                resource_pattern_type=3,
                principal="User:nobody",
                host="*",
                operation=3,
                permission_type=3,
            )
            for _ in range(self._chance.randint(1, 3))
        ]
        return lambda _: kind(creations=creations)

    def _delete_acls(self, version: int) -> Build:
        kind = messages.DeleteAclsRequest
        one = kind.DeleteAclsFilter(
            resource_type_filter=self._chance.choice((2, 3, 99)),
            pattern_type_filter=3,
            principal_filter="User:nobody",
            operation=1,
            permission_type=1,
        )
        return lambda _: kind(filters=[one, one])

    def _describe_client_quotas(self, version: int) -> Build:
        kind = messages.DescribeClientQuotasRequest
        part = kind.ComponentData(entity_type="user", match_type=2)
        return lambda _: kind(components=[part])

    def _alter_client_quotas(self, version: int) -> Build:
        kind = messages.AlterClientQuotasRequest
        entry = kind.EntryData(
            entity=[kind.EntityData(entity_type="user", entity_name="u")],
            ops=[kind.OpData(key="producer_byte_rate", value=1.0)],
        )
        return lambda _: kind(entries=[entry], validate_only=True)

    def _describe_user_scram_credentials(self, version: int) -> Build:
        kind = messages.DescribeUserScramCredentialsRequest
        # not null: Kafka never answers it to who has no right
        asked = [kind.UserName(name=name) for name in self._some("u", "v", low=0)]
        return lambda _: kind(users=asked)

    def _alter_user_scram_credentials(self, version: int) -> Build:
        kind = messages.AlterUserScramCredentialsRequest
        deletions = [
            kind.ScramCredentialDeletion(name=name, mechanism=1) for name in self._some("u", "v")
        ]
        return lambda _: kind(deletions=deletions, upsertions=[])


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)[1:]


API_NAMES: Final = tuple(
    "".join(part.capitalize() for part in name.split("_"))
    for name, member in vars(AclRequests).items()
    if name.startswith("_")
    and not name.startswith("__")
    and getattr(member, "__annotations__", {}).get("return") is Build
)
