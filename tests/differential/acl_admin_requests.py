"""Random requests about configs, the cluster and security."""

from broker_lite.wire import messages
from tests.differential.acl_names import (
    EVERY_ACL,
    GROUPS,
    INVALID,
    MISSING,
    TOPICS,
    Build,
    Names,
)

_TOPIC, _BROKER, _GROUP = 2, 4, 32


class AdminRequests(Names):
    """Random requests about configs, the cluster and security."""

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

    def _describe_acls(self, version: int) -> Build:
        one = {**EVERY_ACL, "pattern_type_filter": self._chance.choice((1, 2, 3, 4, 99))}
        one["resource_name_filter"] = self._chance.choice((None, *TOPICS, "a-", "*"))
        return lambda _: messages.DescribeAclsRequest(**one)

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
            **{
                **EVERY_ACL,
                "resource_type_filter": self._chance.choice((2, 3, 99)),
                "principal_filter": "User:nobody",
            }
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
