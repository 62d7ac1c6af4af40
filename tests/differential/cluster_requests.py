"""Steps about topics and records made into requests, with what one cluster is known to say."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from broker_lite.wire import messages
from tests.differential.batches import BatchSpec, RecordSpec
from tests.differential.coordinator_memory import Memory
from tests.differential.coordinator_sequence import Step
from tests.differential.group_requests import topic_key

FETCH_BYTES: Final = 1 << 20
TIMEOUT_MS: Final = 10_000
NO_EPOCH: Final = -1
_SET, _DELETE = 0, 1
_TOPIC, _BROKER = 2, 4


class Led(NamedTuple):
    """A partition as Metadata tells it."""

    leader: int
    epoch: int
    replicas: tuple[int, ...]


class Known:
    """What a cluster said last about the topics of a script.

    Attributes:
        partitions: by topic and index.
        start_ms: the time that the times of records and requests count from.
    """

    def __init__(self, start_ms: int) -> None:
        self.start_ms = start_ms
        self.partitions: dict[tuple[str, int], Led] = {}

    def epoch(self, topic: str, index: int, difference: int | None) -> int:
        """The known leader epoch and a difference; None stands for no epoch."""
        known = self.partitions.get((topic, index))
        if difference is None or known is None:
            return NO_EPOCH
        return max(known.epoch + difference, NO_EPOCH)


Build = Callable[[Step, Memory, Known], Any]


def _name(step: Step, name: str, memory: Memory, ids_from: int) -> dict[str, Any]:
    return topic_key(name, step, memory, ids_from)


def _produce(step: Step, memory: Memory, known: Known) -> Any:
    args, kind = step.args, messages.ProduceRequest
    records = tuple(
        RecordSpec(timestamp_delta=index, offset_delta=index, value=b"%d" % index)
        for index in range(args["count"])
    )
    batch = BatchSpec(records=records, base_timestamp=known.start_ms + args["time"]).encode()
    topics = [
        kind.TopicProduceData(
            **_name(step, name, memory, 13),
            partition_data=[
                kind.PartitionProduceData(index=index, records=batch) for index in indexes
            ],
        )
        for name, indexes in args["topics"]
    ]
    return kind(acks=args["acks"], timeout_ms=args["timeout_ms"], topic_data=topics)


def _fetch(step: Step, memory: Memory, known: Known) -> Any:
    args, kind = step.args, messages.FetchRequest
    topics = []
    for name, index, offset, epoch, last_epoch in args["topics"]:
        fields: dict[str, Any] = {}
        if step.version >= 9:
            fields["current_leader_epoch"] = known.epoch(name, index, epoch)
        if step.version >= 12:
            fields["last_fetched_epoch"] = last_epoch
        partition = kind.FetchPartition(
            partition=index, fetch_offset=offset, partition_max_bytes=FETCH_BYTES, **fields
        )
        key = _name(step, name, memory, 13)
        if "name" in key:
            key = {"topic": key["name"]}
        topics.append(kind.FetchTopic(**key, partitions=[partition]))
    fields = {"rack_id": args["rack"]} if step.version >= 11 else {}
    return kind(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=FETCH_BYTES,
        isolation_level=args["isolation"],
        topics=topics,
        **fields,
    )


def _list_offsets(step: Step, memory: Memory, known: Known) -> Any:
    args, kind = step.args, messages.ListOffsetsRequest
    topics = []
    for name, index, when, epoch in args["topics"]:
        fields = {}
        if step.version >= 4:
            fields["current_leader_epoch"] = known.epoch(name, index, epoch)
        partition = kind.ListOffsetsPartition(
            partition_index=index, timestamp=when if when < 0 else known.start_ms + when, **fields
        )
        topics.append(kind.ListOffsetsTopic(name=memory.topic(name), partitions=[partition]))
    fields = {"isolation_level": args["isolation"]} if step.version >= 2 else {}
    return kind(replica_id=args["replica"], topics=topics, **fields)


def _end_of_epoch(step: Step, memory: Memory, known: Known) -> Any:
    kind = messages.OffsetForLeaderEpochRequest
    topics = [
        kind.OffsetForLeaderTopic(
            topic=memory.topic(name),
            partitions=[
                kind.OffsetForLeaderPartition(
                    partition=index,
                    current_leader_epoch=known.epoch(name, index, current),
                    leader_epoch=epoch,
                )
            ],
        )
        for name, index, current, epoch in step.args["topics"]
    ]
    fields = {"replica_id": -1} if step.version >= 3 else {}
    return kind(topics=topics, **fields)


def _delete_records(step: Step, memory: Memory, _: Known) -> Any:
    kind = messages.DeleteRecordsRequest
    topics = [
        kind.DeleteRecordsTopic(
            name=memory.topic(name),
            partitions=[kind.DeleteRecordsPartition(partition_index=index, offset=offset)],
        )
        for name, index, offset in step.args["topics"]
    ]
    return kind(topics=topics, timeout_ms=TIMEOUT_MS)


def _metadata(step: Step, memory: Memory, _: Known) -> Any:
    kind, names = messages.MetadataRequest, step.args["topics"]
    fields: dict[str, Any] = {}
    if step.version >= 4:
        fields["allow_auto_topic_creation"] = False
    if names is None:
        return kind(topics=[] if step.version == 0 else None, **fields)
    topics = []
    for name in names:
        if step.args["by_id"]:
            topics.append(kind.MetadataRequestTopic(**topic_key(name, step, memory, 0), name=None))
        else:
            topics.append(kind.MetadataRequestTopic(name=memory.topic(name)))
    return kind(topics=topics, **fields)


def _describe_partitions(step: Step, memory: Memory, _: Known) -> Any:
    args, kind = step.args, messages.DescribeTopicPartitionsRequest
    cursor = args["cursor"]
    if cursor is not None:
        name, index = cursor
        cursor = kind.Cursor(topic_name=memory.topic(name), partition_index=index)
    return kind(
        topics=[kind.TopicRequest(name=memory.topic(name)) for name in args["topics"]],
        response_partition_limit=args["limit"],
        cursor=cursor,
    )


def _describe_cluster(step: Step, _: Memory, __: Known) -> Any:
    fields: dict[str, Any] = {}
    if step.version >= 1:
        fields["endpoint_type"] = step.args["endpoint_type"]
    if step.version >= 2:
        fields["include_fenced_brokers"] = step.args["fenced"]
    return messages.DescribeClusterRequest(**fields)


def _create_topics(step: Step, memory: Memory, _: Known) -> Any:
    kind = messages.CreateTopicsRequest
    topics = [
        kind.CreatableTopic(
            name=memory.topic(name),
            num_partitions=count,
            replication_factor=factor,
            assignments=[
                kind.CreatableReplicaAssignment(partition_index=index, broker_ids=list(ids))
                for index, ids in assignments
            ],
            configs=[kind.CreatableTopicConfig(name=key, value=value) for key, value in configs],
        )
        for name, count, factor, assignments, configs in step.args["topics"]
    ]
    return kind(topics=topics, timeout_ms=TIMEOUT_MS, validate_only=step.args["validate"])


def _create_partitions(step: Step, memory: Memory, _: Known) -> Any:
    kind = messages.CreatePartitionsRequest
    topics = []
    for name, count, assignments in step.args["topics"]:
        rows = None
        if assignments is not None:
            rows = [kind.CreatePartitionsAssignment(broker_ids=list(ids)) for ids in assignments]
        topics.append(
            kind.CreatePartitionsTopic(name=memory.topic(name), count=count, assignments=rows)
        )
    return kind(topics=topics, timeout_ms=TIMEOUT_MS, validate_only=step.args["validate"])


def _delete_topics(step: Step, memory: Memory, _: Known) -> Any:
    kind = messages.DeleteTopicsRequest
    names = [memory.topic(name) for name in step.args["topics"]]
    if step.version >= 6:
        return kind(
            topics=[kind.DeleteTopicState(name=name) for name in names], timeout_ms=TIMEOUT_MS
        )
    return kind(topic_names=names, timeout_ms=TIMEOUT_MS)


def _elect(step: Step, memory: Memory, _: Known) -> Any:
    kind, topics = messages.ElectLeadersRequest, step.args["topics"]
    fields: dict[str, Any] = {}
    if step.version >= 1:
        fields["election_type"] = step.args["type"]
    rows = [
        kind.TopicPartitions(topic=memory.topic(name), partitions=list(indexes))
        for name, indexes in topics
    ]
    return kind(topic_partitions=rows, timeout_ms=TIMEOUT_MS, **fields)


def _reassign(step: Step, memory: Memory, _: Known) -> Any:
    kind = messages.AlterPartitionReassignmentsRequest
    topics = [
        kind.ReassignableTopic(
            name=memory.topic(name),
            partitions=[
                kind.ReassignablePartition(
                    partition_index=index, replicas=None if ids is None else list(ids)
                )
            ],
        )
        for name, index, ids in step.args["topics"]
    ]
    return kind(topics=topics, timeout_ms=TIMEOUT_MS)


def _list_reassignments(step: Step, memory: Memory, _: Known) -> Any:
    kind, topics = messages.ListPartitionReassignmentsRequest, step.args["topics"]
    rows = None
    if topics is not None:
        rows = [
            kind.ListPartitionReassignmentsTopics(
                name=memory.topic(name), partition_indexes=list(indexes)
            )
            for name, indexes in topics
        ]
    return kind(topics=rows, timeout_ms=TIMEOUT_MS)


def _alter_configs(step: Step, memory: Memory, _: Known) -> Any:
    kind = messages.IncrementalAlterConfigsRequest
    name, key, value = step.args["config"]
    operation = _DELETE if value is None else _SET
    config = kind.AlterableConfig(name=key, config_operation=operation, value=value)
    resource = kind.AlterConfigsResource(
        resource_type=_TOPIC, resource_name=memory.topic(name), configs=[config]
    )
    return kind(resources=[resource])


def _describe_configs(step: Step, memory: Memory, _: Known) -> Any:
    kind, name = messages.DescribeConfigsRequest, step.args["resource"]
    is_broker = isinstance(name, int)
    resource = kind.DescribeConfigsResource(
        resource_type=_BROKER if is_broker else _TOPIC,
        resource_name=str(name) if is_broker else memory.topic(name),
        configuration_keys=list(step.args["keys"]),
    )
    return kind(resources=[resource])


def _describe_log_dirs(step: Step, memory: Memory, _: Known) -> Any:
    kind, topics = messages.DescribeLogDirsRequest, step.args["topics"]
    rows = [
        kind.DescribableLogDirTopic(topic=memory.topic(name), partitions=list(indexes))
        for name, indexes in topics
    ]
    return kind(topics=rows)


def _find_coordinator(step: Step, memory: Memory, _: Known) -> Any:
    kind, keys = messages.FindCoordinatorRequest, step.args["keys"]
    fields: dict[str, Any] = {}
    if step.version >= 1:
        fields["key_type"] = step.args["type"]
    if step.version >= 4:
        return kind(coordinator_keys=[memory.own(key) for key in keys], **fields)
    return kind(key=memory.own(keys[0]), **fields)


CLUSTER_REQUESTS: Final[Mapping[str, Build]] = {
    "Produce": _produce,
    "Fetch": _fetch,
    "ListOffsets": _list_offsets,
    "OffsetForLeaderEpoch": _end_of_epoch,
    "DeleteRecords": _delete_records,
    "Metadata": _metadata,
    "DescribeTopicPartitions": _describe_partitions,
    "DescribeCluster": _describe_cluster,
    "CreateTopics": _create_topics,
    "CreatePartitions": _create_partitions,
    "DeleteTopics": _delete_topics,
    "ElectLeaders": _elect,
    "AlterPartitionReassignments": _reassign,
    "ListPartitionReassignments": _list_reassignments,
    "FindCoordinator": _find_coordinator,
    "IncrementalAlterConfigs": _alter_configs,
    "DescribeConfigs": _describe_configs,
    "DescribeLogDirs": _describe_log_dirs,
    "UnregisterBroker": lambda step, _, __: messages.UnregisterBrokerRequest(
        broker_id=step.args["node"]
    ),
}
