"""The table of what the APIs name: where in the request, where in the answer, with which error.

With it, an error for a request, or for one partition of several, works for any API without code in
its handler. An API without a row has one error for the whole request, or none.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

_NO_DEFAULTS: Final[Mapping[str, object]] = MappingProxyType({})


class Level(NamedTuple):
    """One array of a request, and the one of the answer with the elements of the same names.

    Attributes:
        kind: what an element names: topic, partition, group, txn, coordinator, resource, quota; or
            other.
        request: attribute of the array in the request; empty if the answer has more than that.
        response: the same in the answer; empty if the answer leaves the level out.
        request_keys: attributes that name an element; none if the elements are plain values.
        response_keys: the same in the answer, in the same order.
    """

    kind: str
    request: str
    response: str
    request_keys: tuple[str, ...]
    response_keys: tuple[str, ...]


class Row(NamedTuple):
    """One way in which an API names things; it counts in versions that have its arrays.

    Attributes:
        levels: from the outermost array to the one whose elements have errors.
        writes: whether a failed element must not be seen by the handler.
        error: attribute of the error.
        defaults: fields of a failed element that do not have the schema's defaults.
        needs: it counts only for rules that choose topics, or that choose partitions.
        unless: it counts only for other rules.
        by_position: elements of the answer have no names, only the order of the request's.
    """

    levels: tuple[Level, ...]
    writes: bool = False
    error: str = "error_code"
    defaults: Mapping[str, object] = _NO_DEFAULTS
    needs: str = ""
    unless: str = ""
    by_position: bool = False


def _topics(
    request: str, response: str, request_name: str = "name", response_name: str = "name"
) -> Level:
    return Level(
        "topic", request, response, (request_name, "topic_id"), (response_name, "topic_id")
    )


def _numbers(
    request: str, response: str, request_key: str = "", response_key: str = "partition_index"
) -> Level:
    """Return the level of partitions; without a key in the request they are plain numbers."""
    keys = (request_key,) if request_key else ()
    return Level("partition", request, response, keys, (response_key,))


def _names(kind: str, request: str, response: str, key: str, response_key: str = "") -> Level:
    """Return a level of elements that are named by one text; plain texts without a key."""
    return Level(kind, request, response, (key,) if key else (), (response_key or key,))


_INDEX: Final = "partition_index"
_TOPIC_PARTITIONS: Final = (
    _topics("topics", "topics"),
    _numbers("partitions", "partitions", _INDEX),
)
_CONFIGS: Final = ("resource_type", "resource_name")
_MEMBER: Final = ("group_instance_id", "member_id")
_NO_OFFSET: Final = {"committed_offset": -1, "committed_leader_epoch": -1, "metadata": ""}
_NOWHERE: Final = {"node_id": -1, "host": "", "port": -1}

_METADATA: Final = (
    Row((_topics("topics", "topics"),), unless="partitions"),
    Row(
        (_topics("topics", "topics"), _numbers("", "partitions")),
        defaults={"leader_id": -1},
        needs="partitions",
    ),
)

ROWS: Final[Mapping[int, tuple[Row, ...]]] = {
    0: (  # Produce
        Row(
            (
                _topics("topic_data", "responses"),
                _numbers("partition_data", "partition_responses", "index", "index"),
            ),
            writes=True,
            defaults={"base_offset": -1, "log_append_time_ms": -1, "log_start_offset": -1},
        ),
    ),
    1: (  # Fetch
        Row(
            (
                _topics("topics", "responses", "topic", "topic"),
                _numbers("partitions", "partitions", "partition"),
            ),
            defaults={
                "high_watermark": -1,
                "last_stable_offset": -1,
                "log_start_offset": -1,
                "records": b"",
            },
        ),
    ),
    2: (  # ListOffsets
        Row(_TOPIC_PARTITIONS, defaults={"timestamp": -1, "offset": -1, "leader_epoch": -1}),
    ),
    3: _METADATA,  # Metadata
    8: (Row(_TOPIC_PARTITIONS, writes=True),),  # OffsetCommit
    9: (  # OffsetFetch
        Row(
            (_topics("topics", "topics"), _numbers("partition_indexes", "partitions")),
            defaults=_NO_OFFSET,
        ),
        Row((_names("group", "groups", "groups", "group_id"),), unless="topics"),
        Row(
            (
                _names("group", "groups", "groups", "group_id"),
                _topics("topics", "topics"),
                _numbers("partition_indexes", "partitions"),
            ),
            defaults=_NO_OFFSET,
            needs="topics",
        ),
    ),
    10: (  # FindCoordinator
        Row(
            (_names("coordinator", "coordinator_keys", "coordinators", "", "key"),),
            defaults=_NOWHERE,
        ),
    ),
    13: (Row((Level("resource", "members", "members", _MEMBER, _MEMBER),), writes=True),),  # Leave
    15: (Row((_names("group", "groups", "groups", "", "group_id"),)),),  # DescribeGroups
    19: (Row((_topics("topics", "topics"),), writes=True),),  # CreateTopics
    20: (  # DeleteTopics
        Row((_topics("topics", "responses"),), writes=True),
        Row((Level("topic", "topic_names", "responses", (), ("name",)),), writes=True),
    ),
    21: (Row(_TOPIC_PARTITIONS, writes=True, defaults={"low_watermark": -1}),),  # DeleteRecords
    23: (  # OffsetForLeaderEpoch
        Row(
            (
                _topics("topics", "topics", "topic", "topic"),
                _numbers("partitions", "partitions", "partition", "partition"),
            ),
            defaults={"leader_epoch": -1, "end_offset": -1},
        ),
    ),
    24: (  # AddPartitionsToTxn
        Row(
            (
                _topics("v3_and_below_topics", "results_by_topic_v3_and_below"),
                _numbers("partitions", "results_by_partition"),
            ),
            writes=True,
            error="partition_error_code",
        ),
        Row(
            (
                _names("txn", "transactions", "results_by_transaction", "transactional_id"),
                _topics("topics", "topic_results"),
                _numbers("partitions", "results_by_partition"),
            ),
            writes=True,
            error="partition_error_code",
        ),
    ),
    27: (  # WriteTxnMarkers
        Row(
            (
                _names("other", "markers", "markers", "producer_id"),
                _topics("topics", "topics"),
                _numbers("partition_indexes", "partitions"),
            ),
            writes=True,
        ),
    ),
    28: (Row(_TOPIC_PARTITIONS, writes=True),),  # TxnOffsetCommit
    30: (  # CreateAcls
        Row(
            (Level("resource", "creations", "results", ("resource_name",), ()),),
            writes=True,
            by_position=True,
        ),
    ),
    31: (  # DeleteAcls
        Row(
            (Level("resource", "filters", "filter_results", ("resource_name_filter",), ()),),
            writes=True,
            by_position=True,
        ),
    ),
    32: (Row((Level("resource", "resources", "results", _CONFIGS, _CONFIGS),)),),  # DescribeConfigs
    33: (  # AlterConfigs
        Row((Level("resource", "resources", "responses", _CONFIGS, _CONFIGS),), writes=True),
    ),
    34: (  # AlterReplicaLogDirs
        Row(
            (
                _names("resource", "dirs", "", "path"),
                _topics("topics", "results", "name", "topic_name"),
                _numbers("partitions", "partitions"),
            ),
            writes=True,
        ),
    ),
    35: (Row((_names("resource", "", "results", "log_dir"),)),),  # DescribeLogDirs
    37: (Row((_topics("topics", "results"),), writes=True),),  # CreatePartitions
    42: (  # DeleteGroups
        Row((_names("group", "groups_names", "results", "", "group_id"),), writes=True),
    ),
    43: (  # ElectLeaders
        Row(
            (
                _topics("topic_partitions", "replica_election_results", "topic", "topic"),
                _numbers("partitions", "partition_result", "", "partition_id"),
            ),
            writes=True,
        ),
    ),
    44: (  # IncrementalAlterConfigs
        Row((Level("resource", "resources", "responses", _CONFIGS, _CONFIGS),), writes=True),
    ),
    45: (  # AlterPartitionReassignments
        Row((_topics("topics", "responses"), _TOPIC_PARTITIONS[1]), writes=True),
    ),
    47: (Row(_TOPIC_PARTITIONS, writes=True),),  # OffsetDelete
    49: (
        Row((_names("quota", "entries", "entries", "entity"),), writes=True),
    ),  # AlterClientQuotas
    50: (Row((_names("resource", "users", "results", "name", "user"),)),),  # DescribeUserScram...
    51: (  # AlterUserScramCredentials
        Row((_names("resource", "deletions", "results", "name", "user"),), writes=True),
        Row((_names("resource", "upsertions", "results", "name", "user"),), writes=True),
    ),
    55: (  # DescribeQuorum
        Row(
            (
                _topics("topics", "topics", "topic_name", "topic_name"),
                _numbers("partitions", "partitions", _INDEX),
            )
        ),
    ),
    57: (Row((_names("resource", "feature_updates", "results", "feature"),), writes=True),),
    61: (  # DescribeProducers
        Row((_topics("topics", "topics"), _numbers("partition_indexes", "partitions"))),
    ),
    65: (  # DescribeTransactions
        Row((_names("txn", "transactional_ids", "transaction_states", "", "transactional_id"),)),
    ),
    69: (Row((_names("group", "group_ids", "groups", "", "group_id"),)),),  # ConsumerGroupDescribe
    75: _METADATA,  # DescribeTopicPartitions
    77: (Row((_names("group", "group_ids", "groups", "", "group_id"),)),),  # ShareGroupDescribe
    78: (  # ShareFetch
        Row(
            (
                Level("topic", "topics", "responses", ("topic_id",), ("topic_id",)),
                _numbers("partitions", "partitions", _INDEX),
            ),
            defaults={"records": b""},
        ),
    ),
    79: (  # ShareAcknowledge
        Row(
            (
                Level("topic", "topics", "responses", ("topic_id",), ("topic_id",)),
                _numbers("partitions", "partitions", _INDEX),
            ),
            writes=True,
        ),
    ),
    89: (Row((_names("group", "group_ids", "groups", "", "group_id"),)),),  # StreamsGroupDescribe
    90: (Row((_names("group", "groups", "groups", "group_id"),)),),  # DescribeShareGroupOffsets
    91: (  # AlterShareGroupOffsets
        Row(
            (
                Level("topic", "topics", "responses", ("topic_name",), ("topic_name",)),
                _numbers("partitions", "partitions", _INDEX),
            ),
            writes=True,
        ),
    ),
    92: (  # DeleteShareGroupOffsets
        Row(
            (Level("topic", "topics", "responses", ("topic_name",), ("topic_name",)),),
            writes=True,
        ),
    ),
}

_NOBODY: Final = {
    "principal_type": "User",
    "principal_name": "ANONYMOUS",
    "token_requester_principal_type": "User",
    "token_requester_principal_name": "ANONYMOUS",
}

TOP_DEFAULTS: Final[Mapping[int, Mapping[str, object]]] = {
    10: _NOWHERE,  # FindCoordinator
    11: {"protocol_name": None},  # JoinGroup
    22: {"producer_epoch": -1},  # InitProducerId
    38: {  # CreateDelegationToken
        **_NOBODY,
        "issue_timestamp_ms": -1,
        "expiry_timestamp_ms": -1,
        "max_timestamp_ms": -1,
    },
    48: {"entries": None},  # DescribeClientQuotas
}
"""Fields of an answer that fails as a whole, where they do not have the schema's defaults."""
