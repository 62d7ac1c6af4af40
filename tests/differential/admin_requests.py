"""Admin requests in short, and what of their answers is compared."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from broker_lite.wire import ZERO_UUID, messages

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)
NO_ID = b"x" * 16
View = Callable[[Any], Any]


class AdminCase(NamedTuple):
    """One request; `view` takes from the answer what has to be the same."""

    rule: str
    api: str
    version: int
    request: Any
    view: View

    @property
    def title(self) -> str:
        return f"{self.rule} {self.api} v{self.version}"


# -- views: order of results is free, ids are not compared but whether there is one


def _created(response: Any) -> Any:
    return sorted(
        [
            topic.name,
            topic.error_code,
            topic.error_message,
            topic.num_partitions,
            topic.replication_factor,
            topic.topic_id != ZERO_UUID,
        ]
        for topic in response.topics
    )


def _deleted(response: Any) -> Any:
    rows = [
        [
            topic.name,
            topic.topic_id not in {ZERO_UUID, NO_ID},
            topic.error_code,
            topic.error_message,
        ]
        for topic in response.responses
    ]
    return sorted(rows, key=str)


def _grown(response: Any) -> Any:
    return sorted([topic.name, topic.error_code, topic.error_message] for topic in response.results)


def _altered(response: Any) -> Any:
    return [
        [one.error_code, one.error_message, one.resource_type, one.resource_name]
        for one in response.responses
    ]


def _described(response: Any) -> Any:
    return [
        [
            result.error_code,
            result.error_message,
            result.resource_type,
            result.resource_name,
            sorted(
                [
                    config.name,
                    config.value,
                    config.read_only,
                    config.config_source,
                    config.is_default,
                    config.is_sensitive,
                    config.config_type,
                    [[one.name, one.value, one.source] for one in config.synonyms],
                ]
                for config in result.configs
            ),
        ]
        for result in response.results
    ]


def _metadata(response: Any) -> Any:
    rows = [
        [
            topic.error_code,
            topic.name,
            topic.topic_id not in {ZERO_UUID, NO_ID},
            topic.is_internal,
            topic.topic_authorized_operations,
            sorted(
                [part.partition_index, part.leader_id, part.leader_epoch, part.replica_nodes]
                for part in topic.partitions
            ),
        ]
        for topic in response.topics
    ]
    head = [
        len(response.brokers),
        response.cluster_id is not None,
        response.controller_id,
        response.cluster_authorized_operations,
        response.error_code,
    ]
    return [head, sorted(rows, key=str)]


def _pages(response: Any) -> Any:
    cursor = response.next_cursor
    return [
        [
            [
                topic.error_code,
                topic.name,
                topic.topic_authorized_operations,
                [part.partition_index for part in topic.partitions],
            ]
            for topic in response.topics
        ],
        cursor and [cursor.topic_name, cursor.partition_index],
    ]


def _cluster(response: Any) -> Any:
    return [
        response.error_code,
        response.error_message,
        response.endpoint_type,
        bool(response.cluster_id),
        response.controller_id,
        [[one.broker_id, one.rack, one.is_fenced] for one in response.brokers],
        response.cluster_authorized_operations,
    ]


def _log_dirs(response: Any) -> Any:
    return [
        [
            result.error_code,
            result.is_cordoned,
            result.total_bytes > 0,
            sorted(
                [topic.name, part.partition_index, part.partition_size, part.is_future_key]
                for topic in result.topics
                for part in topic.partitions
            ),
        ]
        for result in response.results
    ]


# -- requests


def topic(
    name: str,
    partitions: int = 1,
    replicas: int = 1,
    assignments: Iterable[tuple[int, Sequence[int]]] = (),
    configs: Iterable[tuple[str, str | None]] = (),
) -> Any:
    """An entry of CreateTopics."""
    types = messages.CreateTopicsRequest
    return types.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=[
            types.CreatableReplicaAssignment(partition_index=index, broker_ids=list(ids))
            for index, ids in assignments
        ],
        configs=[types.CreatableTopicConfig(name=key, value=value) for key, value in configs],
    )


def create(rule: str, *topics: Any, version: int = 7, validate: bool = False) -> AdminCase:
    request = messages.CreateTopicsRequest(
        topics=list(topics), timeout_ms=10000, validate_only=validate
    )
    return AdminCase(rule, "CreateTopics", version, request, _created)


def delete(rule: str, version: int, *topics: tuple[str | None, bytes] | str) -> AdminCase:
    types = messages.DeleteTopicsRequest
    names = [one for one in topics if isinstance(one, str)]
    states = [
        types.DeleteTopicState(name=one[0], topic_id=one[1])
        for one in topics
        if not isinstance(one, str)
    ]
    request = types(topic_names=names, topics=states, timeout_ms=10000)
    return AdminCase(rule, "DeleteTopics", version, request, _deleted)


Growth = tuple[str, int, Sequence[Sequence[int]] | None]


def grow(rule: str, *topics: Growth, validate: bool = False) -> AdminCase:
    types = messages.CreatePartitionsRequest
    entries = [
        types.CreatePartitionsTopic(
            name=name,
            count=count,
            assignments=None
            if replicas is None
            else [types.CreatePartitionsAssignment(broker_ids=list(ids)) for ids in replicas],
        )
        for name, count, replicas in topics
    ]
    request = types(topics=entries, timeout_ms=10000, validate_only=validate)
    return AdminCase(rule, "CreatePartitions", 3, request, _grown)


Operations = Sequence[tuple[str, int, str | None]]


def alter(rule: str, *resources: tuple[int, str, Operations], validate: bool = False) -> AdminCase:
    types = messages.IncrementalAlterConfigsRequest
    entries = [
        types.AlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=[
                types.AlterableConfig(name=key, config_operation=code, value=value)
                for key, code, value in operations
            ],
        )
        for kind, name, operations in resources
    ]
    request = types(resources=entries, validate_only=validate)
    return AdminCase(rule, "IncrementalAlterConfigs", 1, request, _altered)


def replace(
    rule: str, kind: int, name: str, *configs: tuple[str, str | None], validate: bool = False
) -> AdminCase:
    types = messages.AlterConfigsRequest
    entry = types.AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[types.AlterableConfig(name=key, value=value) for key, value in configs],
    )
    request = types(resources=[entry], validate_only=validate)
    return AdminCase(rule, "AlterConfigs", 2, request, _altered)


def describe(
    rule: str,
    kind: int,
    name: str,
    keys: Sequence[str] | None,
    *,
    version: int = 4,
    synonyms: bool = True,
    times: int = 1,
) -> AdminCase:
    types = messages.DescribeConfigsRequest
    entry = types.DescribeConfigsResource(
        resource_type=kind,
        resource_name=name,
        configuration_keys=None if keys is None else list(keys),
    )
    request = types(resources=[entry] * times, include_synonyms=version > 0 and synonyms)
    return AdminCase(rule, "DescribeConfigs", version, request, _described)


def metadata(
    rule: str, version: int, topics: Sequence[tuple[str | None, bytes] | str] | None, **flags: bool
) -> AdminCase:
    types = messages.MetadataRequest
    entries = topics and [
        types.MetadataRequestTopic(name=one)
        if isinstance(one, str)
        else types.MetadataRequestTopic(name=one[0], topic_id=one[1])
        for one in topics
    ]
    fields: dict[str, bool] = {"allow_auto_topic_creation": False} if version >= 4 else {}
    request = types(topics=entries if topics else topics, **{**fields, **flags})
    return AdminCase(rule, "Metadata", version, request, _metadata)


def page(
    rule: str,
    topics: Sequence[str],
    cursor: tuple[str, int] | None = None,
    limit: int = 2000,
) -> AdminCase:
    types = messages.DescribeTopicPartitionsRequest
    request = types(
        topics=[types.TopicRequest(name=name) for name in topics],
        cursor=cursor and types.Cursor(topic_name=cursor[0], partition_index=cursor[1]),
        response_partition_limit=limit,
    )
    return AdminCase(rule, "DescribeTopicPartitions", 0, request, _pages)


def cluster(rule: str, version: int, **fields: Any) -> AdminCase:
    request = messages.DescribeClusterRequest(**fields)
    return AdminCase(rule, "DescribeCluster", version, request, _cluster)


def log_dirs(rule: str, version: int, topics: dict[str, list[int]] | None) -> AdminCase:
    types = messages.DescribeLogDirsRequest
    entries = topics and [
        types.DescribableLogDirTopic(topic=name, partitions=indexes)
        for name, indexes in topics.items()
    ]
    request = types(topics=[] if topics == {} else entries)
    return AdminCase(rule, "DescribeLogDirs", version, request, _log_dirs)
