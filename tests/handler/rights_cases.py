"""A request of each API, the rights that it needs, and what a client without them is answered.

Who adds an API adds a case here, or a reason why it needs none.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from broker_lite.security.acls.acl import CLUSTER_NAME, Acl, Operation, ResourceType
from broker_lite.wire import messages
from tests.log.batches import batch, record
from tests.support.acls import acl
from tests.support.handler_broker import HandlerBroker

TOPIC, GROUP, CLUSTER, ID = 29, 30, 31, 53
ALL_DENIALS = {TOPIC, GROUP, CLUSTER, ID}

NEEDS_NOTHING = {
    17: "it is about who the client is (X-62)",
    18: "it may come before the client has said who it is (X-62)",
    36: "it is about who the client is (X-62)",
    **dict.fromkeys(
        (38, 39, 40, 41),
        "own tokens need no right; those to tokens of others (X-70, X-74) have tests of their own",
    ),
    **dict.fromkeys((71, 72), "clients need no right to push their own metrics (P-151)"),
}


class Case(NamedTuple):
    """A request, the rights that it needs, and what a client without them is answered.

    `denied` is an error code, or tells whether the answer hides what it should.
    """

    version: int
    fields: Callable[[HandlerBroker], dict[str, Any]]
    rights: tuple[Acl, ...]
    denied: int | Callable[[Any], bool]


def on_topic(operation: Operation) -> Acl:
    return acl(operation)


def on_group(operation: Operation) -> Acl:
    return acl(operation, ResourceType.GROUP, "g")


def on_id(operation: Operation) -> Acl:
    return acl(operation, ResourceType.TRANSACTIONAL_ID, "x")


def on_cluster(operation: Operation) -> Acl:
    return acl(operation, ResourceType.CLUSTER, CLUSTER_NAME)


Fields = Callable[[HandlerBroker], dict[str, Any]]


def fields(**given: Any) -> Fields:
    return lambda _: given


def topics(request: str, topic: str, partition: str | None = None, **more: Any) -> Fields:
    """A request about partition 0 of topic t; the names of its structs are given."""

    def make(_: HandlerBroker) -> dict[str, Any]:
        types = getattr(messages, f"{request}Request")
        made: list[Any] = [0]
        if partition is not None:
            kind = getattr(types, partition)
            index = "partition" if "partition" in kind.fields else "partition_index"
            made = [kind(**{index: 0})]
        kind = getattr(types, topic)
        name = "topic" if "topic" in kind.fields else "name"
        (array,) = (each for each in kind.fields if each.startswith("partition"))
        return {"topics": [kind(**{name: "t", array: made})], **more}

    return make


def produce(_: HandlerBroker) -> dict[str, Any]:
    types = messages.ProduceRequest
    partition = types.PartitionProduceData(index=0, records=batch(record()))
    topic = types.TopicProduceData(name="t", partition_data=[partition])
    return {"acks": -1, "timeout_ms": 1000, "topic_data": [topic]}


def acl_fields(_: HandlerBroker) -> dict[str, Any]:
    creation = messages.CreateAclsRequest.AclCreation(
        resource_type=2,
        resource_name="t",
        resource_pattern_type=3,
        principal="User:bob",
        host="*",
        operation=3,
        permission_type=3,
    )
    return {"creations": [creation]}


def acl_filter(_: HandlerBroker) -> dict[str, Any]:
    one = messages.DeleteAclsRequest.DeleteAclsFilter(
        resource_type_filter=2, pattern_type_filter=3, operation=3, permission_type=3
    )
    return {"filters": [one]}


def transaction(_: HandlerBroker) -> dict[str, Any]:
    topic = messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name="t", partitions=[0])
    return {
        "v3_and_below_transactional_id": "x",
        "v3_and_below_producer_id": 1,
        "v3_and_below_producer_epoch": 0,
        "v3_and_below_topics": [topic],
    }


def markers(_: HandlerBroker) -> dict[str, Any]:
    types = messages.WriteTxnMarkersRequest
    topic = types.WritableTxnMarkerTopic(name="t", partition_indexes=[0])
    marker = types.WritableTxnMarker(producer_id=1, producer_epoch=0, topics=[topic])
    return {"markers": [marker]}


def configs(request: str, resource: str) -> Fields:
    kind = getattr(getattr(messages, request), resource)
    return fields(resources=[kind(resource_type=2, resource_name="t")])


CASES: dict[int, Case] = {
    0: Case(8, produce, (on_topic(Operation.WRITE),), TOPIC),
    1: Case(
        12,
        topics("Fetch", "FetchTopic", "FetchPartition", max_bytes=1000),
        (on_topic(Operation.READ),),
        TOPIC,
    ),
    2: Case(
        5,
        topics("ListOffsets", "ListOffsetsTopic", "ListOffsetsPartition"),
        (on_topic(Operation.DESCRIBE),),
        TOPIC,
    ),
    3: Case(
        9,
        fields(topics=[messages.MetadataRequest.MetadataRequestTopic(name="t")]),
        (on_topic(Operation.DESCRIBE),),
        TOPIC,
    ),
    8: Case(
        8,
        topics(
            "OffsetCommit",
            "OffsetCommitRequestTopic",
            "OffsetCommitRequestPartition",
            group_id="g",
        ),
        (on_group(Operation.READ), on_topic(Operation.READ)),
        GROUP,
    ),
    9: Case(
        7,
        topics("OffsetFetch", "OffsetFetchRequestTopic", group_id="g"),
        (on_group(Operation.DESCRIBE), on_topic(Operation.DESCRIBE)),
        GROUP,
    ),
    10: Case(4, fields(coordinator_keys=["g"]), (on_group(Operation.DESCRIBE),), GROUP),
    11: Case(
        7,
        fields(group_id="g", session_timeout_ms=10_000, protocol_type="consumer"),
        (on_group(Operation.READ),),
        GROUP,
    ),
    12: Case(4, fields(group_id="g", member_id="m"), (on_group(Operation.READ),), GROUP),
    13: Case(2, fields(group_id="g", member_id="m"), (on_group(Operation.READ),), GROUP),
    14: Case(4, fields(group_id="g", member_id="m"), (on_group(Operation.READ),), GROUP),
    15: Case(5, fields(groups=["g"]), (on_group(Operation.DESCRIBE),), GROUP),
    16: Case(4, fields(), (on_group(Operation.DESCRIBE),), lambda answer: not answer.groups),
    19: Case(
        5,
        fields(topics=[messages.CreateTopicsRequest.CreatableTopic(name="t", num_partitions=1)]),
        (on_topic(Operation.CREATE),),
        TOPIC,
    ),
    20: Case(5, fields(topic_names=["t"]), (on_topic(Operation.DELETE),), TOPIC),
    21: Case(
        2,
        topics("DeleteRecords", "DeleteRecordsTopic", "DeleteRecordsPartition"),
        (on_topic(Operation.DELETE),),
        TOPIC,
    ),
    22: Case(4, fields(transactional_id="x"), (on_id(Operation.WRITE),), ID),
    23: Case(
        4,
        topics("OffsetForLeaderEpoch", "OffsetForLeaderTopic", "OffsetForLeaderPartition"),
        (on_topic(Operation.DESCRIBE),),
        TOPIC,
    ),
    24: Case(3, transaction, (on_id(Operation.WRITE), on_topic(Operation.WRITE)), ID),
    25: Case(
        3,
        fields(transactional_id="x", group_id="g"),
        (on_id(Operation.WRITE), on_group(Operation.READ)),
        ID,
    ),
    26: Case(3, fields(transactional_id="x"), (on_id(Operation.WRITE),), ID),
    27: Case(1, markers, (on_cluster(Operation.ALTER),), CLUSTER),
    28: Case(
        3,
        topics(
            "TxnOffsetCommit",
            "TxnOffsetCommitRequestTopic",
            "TxnOffsetCommitRequestPartition",
            transactional_id="x",
            group_id="g",
        ),
        (on_id(Operation.WRITE), on_group(Operation.READ), on_topic(Operation.READ)),
        ID,
    ),
    29: Case(
        3,
        fields(resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1),
        (on_cluster(Operation.DESCRIBE),),
        CLUSTER,
    ),
    30: Case(3, acl_fields, (on_cluster(Operation.ALTER),), CLUSTER),
    31: Case(3, acl_filter, (on_cluster(Operation.ALTER),), CLUSTER),
    32: Case(
        4,
        configs("DescribeConfigsRequest", "DescribeConfigsResource"),
        (on_topic(Operation.DESCRIBE_CONFIGS),),
        TOPIC,
    ),
    33: Case(
        2,
        configs("AlterConfigsRequest", "AlterConfigsResource"),
        (on_topic(Operation.ALTER_CONFIGS),),
        TOPIC,
    ),
    34: Case(
        2,
        fields(
            dirs=[
                messages.AlterReplicaLogDirsRequest.AlterReplicaLogDir(
                    path="/a",
                    topics=[
                        messages.AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic(
                            name="t", partitions=[0]
                        )
                    ],
                )
            ]
        ),
        (on_cluster(Operation.ALTER),),
        CLUSTER,
    ),
    35: Case(4, fields(topics=None), (on_cluster(Operation.DESCRIBE),), CLUSTER),
    37: Case(
        3,
        fields(topics=[messages.CreatePartitionsRequest.CreatePartitionsTopic(name="t", count=2)]),
        (on_topic(Operation.ALTER),),
        TOPIC,
    ),
    42: Case(2, fields(groups_names=["g"]), (on_group(Operation.DELETE),), GROUP),
    43: Case(2, fields(topic_partitions=None), (on_cluster(Operation.ALTER),), CLUSTER),
    44: Case(
        1,
        configs("IncrementalAlterConfigsRequest", "AlterConfigsResource"),
        (on_topic(Operation.ALTER_CONFIGS),),
        TOPIC,
    ),
    45: Case(0, fields(), (on_cluster(Operation.ALTER),), CLUSTER),
    46: Case(0, fields(topics=None), (on_cluster(Operation.DESCRIBE),), CLUSTER),
    47: Case(
        0,
        topics(
            "OffsetDelete",
            "OffsetDeleteRequestTopic",
            "OffsetDeleteRequestPartition",
            group_id="g",
        ),
        (on_group(Operation.DELETE), on_topic(Operation.READ)),
        GROUP,
    ),
    48: Case(1, fields(), (on_cluster(Operation.DESCRIBE_CONFIGS),), CLUSTER),
    49: Case(
        1,
        fields(
            entries=[
                messages.AlterClientQuotasRequest.EntryData(
                    entity=[
                        messages.AlterClientQuotasRequest.EntityData(
                            entity_type="user", entity_name="bob"
                        )
                    ]
                )
            ]
        ),
        (on_cluster(Operation.ALTER_CONFIGS),),
        CLUSTER,
    ),
    50: Case(
        0,
        fields(users=[messages.DescribeUserScramCredentialsRequest.UserName(name="bob")]),
        (on_cluster(Operation.DESCRIBE),),
        CLUSTER,
    ),
    51: Case(
        0,
        fields(
            deletions=[
                messages.AlterUserScramCredentialsRequest.ScramCredentialDeletion(
                    name="bob", mechanism=1
                )
            ]
        ),
        (on_cluster(Operation.ALTER),),
        CLUSTER,
    ),
    55: Case(
        2,
        fields(
            topics=[
                messages.DescribeQuorumRequest.TopicData(
                    topic_name="__cluster_metadata",
                    partitions=[messages.DescribeQuorumRequest.PartitionData(partition_index=0)],
                )
            ]
        ),
        (on_cluster(Operation.DESCRIBE),),
        CLUSTER,
    ),
    57: Case(1, fields(), (on_cluster(Operation.ALTER),), CLUSTER),
    60: Case(
        0,
        fields(include_cluster_authorized_operations=True),
        (on_cluster(Operation.DESCRIBE),),
        lambda answer: answer.cluster_authorized_operations == 0,
    ),
    61: Case(
        0,
        fields(
            topics=[messages.DescribeProducersRequest.TopicRequest(name="t", partition_indexes=[0])]
        ),
        (on_topic(Operation.READ),),
        TOPIC,
    ),
    64: Case(0, fields(broker_id=7), (on_cluster(Operation.ALTER),), CLUSTER),
    65: Case(0, fields(transactional_ids=["x"]), (on_id(Operation.DESCRIBE),), ID),
    66: Case(
        0,
        fields(),
        (on_id(Operation.DESCRIBE),),
        lambda answer: not answer.transaction_states,
    ),
    68: Case(
        0,
        fields(
            group_id="new",
            member_id="m",
            rebalance_timeout_ms=1000,
            subscribed_topic_names=["t"],
            topic_partitions=[],
        ),
        (acl(Operation.READ, ResourceType.GROUP, "new"), on_topic(Operation.DESCRIBE)),
        GROUP,
    ),
    69: Case(0, fields(group_ids=["g"]), (on_group(Operation.DESCRIBE),), GROUP),
    74: Case(0, fields(), (on_cluster(Operation.DESCRIBE_CONFIGS),), CLUSTER),
    75: Case(
        0,
        fields(topics=[messages.DescribeTopicPartitionsRequest.TopicRequest(name="t")]),
        (on_topic(Operation.DESCRIBE),),
        TOPIC,
    ),
}
