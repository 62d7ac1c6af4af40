"""The one table of APIs: key, name, all versions there is code for, first flexible one, handler.

A listener offers a part of the table, see the module `offered`. ApiVersions answers from that part,
and the dispatcher looks up handlers in it. The README's table is made from the whole table. A
handler finds the offered part in `context.apis`; it never imports this module.

Rule: P-44, P-60.
"""

from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Final

from anyio import to_thread

from broker_lite.handler import api_versions
from broker_lite.handler.context import Api, Handler, HandlerContext, Parts, Request
from broker_lite.handler.fetch import api as fetch
from broker_lite.handler.produce import api as produce

__all__ = ["APIS", "NEVER_FLEXIBLE", "OLD_MIN_VERSIONS", "Api", "load_handlers"]

NEVER_FLEXIBLE: Final = 32767
"""`flexible_from` of an API without flexible versions (P-44)."""

_loads: Final[list[Callable[[], None]]] = []


def _later(module: str, name: str = "handle") -> Handler:
    """Return a handler whose module is imported when it is called for the first time.

    A start would take a tenth longer if it imported all of them; load_handlers() does so later. A
    request that comes before that waits for a thread, so that other clients do not wait.

    Args:
        module: its path below this package.
        name: of the function there.
    """
    path = f"broker_lite.handler.{module}"
    loaded: list[Handler] = []

    def load() -> None:
        loaded[:] = [getattr(import_module(path), name)]

    async def load_and_handle(context: HandlerContext, request: Request) -> Parts | None:
        await to_thread.run_sync(load)
        return await loaded[0](context, request)

    def handle(context: HandlerContext, request: Request) -> Awaitable[Parts | None]:
        if not loaded:
            return load_and_handle(context, request)
        return loaded[0](context, request)

    _loads.append(load)
    handle.__module__ = path
    return handle


APIS: Final[Mapping[int, Api]] = {
    0: Api("Produce", 3, 13, 9, produce.handle, produce.begin),
    1: Api("Fetch", 4, 18, 12, fetch.handle, fetch.begin),
    2: Api("ListOffsets", 0, 11, 6, _later("log_offsets.list_offsets")),
    3: Api("Metadata", 0, 13, 9, _later("topics.metadata")),
    8: Api("OffsetCommit", 2, 10, 8, _later("groups.offset_commits", "handle_commit")),
    9: Api("OffsetFetch", 1, 10, 6, _later("groups.offset_commits", "handle_fetch")),
    10: Api("FindCoordinator", 0, 6, 3, _later("cluster.find_coordinator")),
    11: Api("JoinGroup", 0, 9, 6, _later("groups.membership", "handle_join")),
    12: Api("Heartbeat", 0, 4, 4, _later("groups.membership", "handle_heartbeat")),
    13: Api("LeaveGroup", 0, 5, 4, _later("groups.membership", "handle_leave")),
    14: Api("SyncGroup", 0, 5, 4, _later("groups.membership", "handle_sync")),
    15: Api("DescribeGroups", 0, 6, 5, _later("groups.admin", "handle_describe")),
    16: Api("ListGroups", 0, 5, 3, _later("groups.admin", "handle_list")),
    17: Api(
        "SaslHandshake", 0, 1, NEVER_FLEXIBLE, _later("security.sasl_requests", "handle_handshake")
    ),
    18: Api("ApiVersions", 0, 5, 3, api_versions.handle),
    19: Api("CreateTopics", 0, 7, 5, _later("topics.create_topics")),
    20: Api("DeleteTopics", 0, 6, 4, _later("topics.delete_topics")),
    21: Api("DeleteRecords", 0, 2, 2, _later("log_offsets.delete_records")),
    22: Api("InitProducerId", 0, 6, 2, _later("transactions.producer_ids")),
    23: Api("OffsetForLeaderEpoch", 2, 4, 4, _later("log_offsets.offset_for_leader_epoch")),
    24: Api("AddPartitionsToTxn", 0, 5, 3, _later("transactions.partitions", "handle_partitions")),
    25: Api("AddOffsetsToTxn", 0, 4, 3, _later("transactions.partitions", "handle_offsets")),
    26: Api("EndTxn", 0, 5, 3, _later("transactions.end", "handle_end")),
    27: Api("WriteTxnMarkers", 1, 2, 1, _later("transactions.end", "handle_markers")),
    28: Api("TxnOffsetCommit", 0, 6, 3, _later("transactions.offset_commit")),
    29: Api("DescribeAcls", 0, 3, 2, _later("security.acls", "handle_describe")),
    30: Api("CreateAcls", 0, 3, 2, _later("security.acls", "handle_create")),
    31: Api("DeleteAcls", 0, 3, 2, _later("security.acls", "handle_delete")),
    32: Api("DescribeConfigs", 0, 4, 4, _later("configs.describe_configs")),
    33: Api("AlterConfigs", 0, 2, 2, _later("configs.alter_configs", "handle_alter")),
    34: Api("AlterReplicaLogDirs", 1, 2, 2, _later("cluster.alter_replica_log_dirs")),
    35: Api("DescribeLogDirs", 0, 5, 2, _later("cluster.describe_log_dirs")),
    36: Api("SaslAuthenticate", 0, 2, 2, _later("security.sasl_requests", "handle_authenticate")),
    37: Api("CreatePartitions", 0, 3, 2, _later("topics.create_partitions")),
    38: Api(
        "CreateDelegationToken", 1, 3, 2, _later("security.delegation_tokens", "handle_create")
    ),
    39: Api("RenewDelegationToken", 1, 2, 2, _later("security.delegation_tokens", "handle_renew")),
    40: Api(
        "ExpireDelegationToken", 1, 2, 2, _later("security.delegation_tokens", "handle_expire")
    ),
    41: Api("DescribeDelegationToken", 1, 3, 2, _later("security.describe_tokens")),
    42: Api("DeleteGroups", 0, 3, 2, _later("groups.admin", "handle_delete")),
    43: Api("ElectLeaders", 0, 2, 2, _later("cluster.elect_leaders")),
    44: Api(
        "IncrementalAlterConfigs", 0, 1, 1, _later("configs.alter_configs", "handle_incremental")
    ),
    45: Api(
        "AlterPartitionReassignments", 0, 1, 0, _later("cluster.reassignments", "handle_alter")
    ),
    46: Api("ListPartitionReassignments", 0, 0, 0, _later("cluster.reassignments", "handle_list")),
    47: Api("OffsetDelete", 0, 0, NEVER_FLEXIBLE, _later("groups.offset_commits", "handle_delete")),
    48: Api("DescribeClientQuotas", 0, 1, 1, _later("security.client_quotas", "handle_describe")),
    49: Api("AlterClientQuotas", 0, 1, 1, _later("security.client_quotas", "handle_alter")),
    50: Api(
        "DescribeUserScramCredentials",
        0,
        0,
        0,
        _later("security.scram_credentials", "handle_describe"),
    ),
    51: Api(
        "AlterUserScramCredentials", 0, 0, 0, _later("security.scram_credentials", "handle_alter")
    ),
    55: Api("DescribeQuorum", 0, 2, 0, _later("cluster.describe_quorum")),
    57: Api("UpdateFeatures", 0, 2, 0, _later("cluster.update_features")),
    60: Api("DescribeCluster", 0, 2, 0, _later("cluster.describe_cluster")),
    61: Api("DescribeProducers", 0, 0, 0, _later("transactions.describe_producers")),
    64: Api("UnregisterBroker", 0, 0, 0, _later("cluster.unregister_broker")),
    65: Api("DescribeTransactions", 0, 0, 0, _later("transactions.describe", "handle_describe")),
    66: Api("ListTransactions", 0, 2, 0, _later("transactions.describe", "handle_list")),
    68: Api("ConsumerGroupHeartbeat", 0, 1, 0, _later("groups.consumer", "handle_heartbeat")),
    69: Api("ConsumerGroupDescribe", 0, 1, 0, _later("groups.consumer", "handle_describe")),
    71: Api("GetTelemetrySubscriptions", 0, 0, 0, _later("telemetry", "handle_subscriptions")),
    72: Api("PushTelemetry", 0, 0, 0, _later("telemetry", "handle_push")),
    74: Api("ListConfigResources", 0, 1, 0, _later("configs.list_config_resources")),
    75: Api("DescribeTopicPartitions", 0, 0, 0, _later("topics.describe_topic_partitions")),
    76: Api("ShareGroupHeartbeat", 1, 1, 0, _later("groups.share", "handle_heartbeat")),
    77: Api("ShareGroupDescribe", 1, 1, 0, _later("groups.share", "handle_describe")),
    78: Api("ShareFetch", 1, 2, 0, _later("share.fetch")),
    79: Api("ShareAcknowledge", 1, 2, 0, _later("share.acknowledge")),
    88: Api("StreamsGroupHeartbeat", 0, 1, 0, _later("streams.groups", "handle_heartbeat")),
    89: Api("StreamsGroupDescribe", 0, 1, 0, _later("streams.groups", "handle_describe")),
    90: Api("DescribeShareGroupOffsets", 0, 1, 0, _later("share.offsets", "handle_describe")),
    91: Api("AlterShareGroupOffsets", 0, 0, 0, _later("share.offsets", "handle_alter")),
    92: Api("DeleteShareGroupOffsets", 0, 0, 0, _later("share.offsets", "handle_delete")),
}

OLD_MIN_VERSIONS: Final[Mapping[int, int]] = {0: 0, 1: 0, 8: 0, 9: 0}
"""API key to the lowest version, for emulated releases that serve messages of magic 0 and 1 too."""


def load_handlers() -> None:
    """Import the modules of all handlers; may run in a thread."""
    for load in _loads:
        load()
