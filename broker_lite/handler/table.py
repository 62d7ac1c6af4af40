"""The one table of APIs: key, name, all versions there is code for, first flexible one, handler.

A listener offers a part of the table, see the module `offered`. ApiVersions answers from that part,
and the dispatcher looks up handlers in it. The README's table is made from the whole table. A
handler finds the offered part in `context.apis`; it never imports this module.

Rule: P-44, P-60.
"""

from collections.abc import Mapping
from typing import Final

from broker_lite.handler import api_versions
from broker_lite.handler.cluster import (
    alter_replica_log_dirs,
    describe_cluster,
    describe_log_dirs,
    describe_quorum,
    elect_leaders,
    find_coordinator,
    reassignments,
    unregister_broker,
    update_features,
)
from broker_lite.handler.configs import alter_configs, describe_configs, list_config_resources
from broker_lite.handler.context import Api
from broker_lite.handler.fetch import api as fetch
from broker_lite.handler.groups import admin as group_admin
from broker_lite.handler.groups import consumer as consumer_groups
from broker_lite.handler.groups import membership as group_membership
from broker_lite.handler.groups import offset_commits
from broker_lite.handler.log_offsets import delete_records, list_offsets, offset_for_leader_epoch
from broker_lite.handler.produce import api as produce
from broker_lite.handler.security import acls, client_quotas, scram_credentials
from broker_lite.handler.topics import (
    create_partitions,
    create_topics,
    delete_topics,
    describe_topic_partitions,
    metadata,
)
from broker_lite.handler.transactions import describe as describe_transactions
from broker_lite.handler.transactions import describe_producers, producer_ids
from broker_lite.handler.transactions import end as end_transactions
from broker_lite.handler.transactions import offset_commit as txn_offset_commit
from broker_lite.handler.transactions import partitions as transaction_partitions

__all__ = ["APIS", "NEVER_FLEXIBLE", "OLD_MIN_VERSIONS", "Api"]

NEVER_FLEXIBLE: Final = 32767
"""`flexible_from` of an API without flexible versions (P-44)."""

APIS: Final[Mapping[int, Api]] = {
    0: Api("Produce", 3, 13, 9, produce.handle),
    1: Api("Fetch", 4, 18, 12, fetch.handle),
    2: Api("ListOffsets", 0, 11, 6, list_offsets.handle),
    3: Api("Metadata", 0, 13, 9, metadata.handle),
    8: Api("OffsetCommit", 2, 10, 8, offset_commits.handle_commit),
    9: Api("OffsetFetch", 1, 10, 6, offset_commits.handle_fetch),
    10: Api("FindCoordinator", 0, 6, 3, find_coordinator.handle),
    11: Api("JoinGroup", 0, 9, 6, group_membership.handle_join),
    12: Api("Heartbeat", 0, 4, 4, group_membership.handle_heartbeat),
    13: Api("LeaveGroup", 0, 5, 4, group_membership.handle_leave),
    14: Api("SyncGroup", 0, 5, 4, group_membership.handle_sync),
    15: Api("DescribeGroups", 0, 6, 5, group_admin.handle_describe),
    16: Api("ListGroups", 0, 5, 3, group_admin.handle_list),
    18: Api("ApiVersions", 0, 5, 3, api_versions.handle),
    19: Api("CreateTopics", 0, 7, 5, create_topics.handle),
    20: Api("DeleteTopics", 0, 6, 4, delete_topics.handle),
    21: Api("DeleteRecords", 0, 2, 2, delete_records.handle),
    22: Api("InitProducerId", 0, 5, 2, producer_ids.handle),
    23: Api("OffsetForLeaderEpoch", 2, 4, 4, offset_for_leader_epoch.handle),
    24: Api("AddPartitionsToTxn", 0, 5, 3, transaction_partitions.handle_partitions),
    25: Api("AddOffsetsToTxn", 0, 4, 3, transaction_partitions.handle_offsets),
    26: Api("EndTxn", 0, 5, 3, end_transactions.handle_end),
    27: Api("WriteTxnMarkers", 1, 2, 1, end_transactions.handle_markers),
    28: Api("TxnOffsetCommit", 0, 6, 3, txn_offset_commit.handle),
    29: Api("DescribeAcls", 0, 3, 2, acls.handle_describe),
    30: Api("CreateAcls", 0, 3, 2, acls.handle_create),
    31: Api("DeleteAcls", 0, 3, 2, acls.handle_delete),
    32: Api("DescribeConfigs", 0, 4, 4, describe_configs.handle),
    33: Api("AlterConfigs", 0, 2, 2, alter_configs.handle_alter),
    34: Api("AlterReplicaLogDirs", 1, 2, 2, alter_replica_log_dirs.handle),
    35: Api("DescribeLogDirs", 0, 5, 2, describe_log_dirs.handle),
    37: Api("CreatePartitions", 0, 3, 2, create_partitions.handle),
    42: Api("DeleteGroups", 0, 3, 2, group_admin.handle_delete),
    43: Api("ElectLeaders", 0, 2, 2, elect_leaders.handle),
    44: Api("IncrementalAlterConfigs", 0, 1, 1, alter_configs.handle_incremental),
    45: Api("AlterPartitionReassignments", 0, 1, 0, reassignments.handle_alter),
    46: Api("ListPartitionReassignments", 0, 0, 0, reassignments.handle_list),
    47: Api("OffsetDelete", 0, 0, NEVER_FLEXIBLE, offset_commits.handle_delete),
    48: Api("DescribeClientQuotas", 0, 1, 1, client_quotas.handle_describe),
    49: Api("AlterClientQuotas", 0, 1, 1, client_quotas.handle_alter),
    50: Api("DescribeUserScramCredentials", 0, 0, 0, scram_credentials.handle_describe),
    51: Api("AlterUserScramCredentials", 0, 0, 0, scram_credentials.handle_alter),
    55: Api("DescribeQuorum", 0, 2, 0, describe_quorum.handle),
    57: Api("UpdateFeatures", 0, 2, 0, update_features.handle),
    60: Api("DescribeCluster", 0, 2, 0, describe_cluster.handle),
    61: Api("DescribeProducers", 0, 0, 0, describe_producers.handle),
    64: Api("UnregisterBroker", 0, 0, 0, unregister_broker.handle),
    65: Api("DescribeTransactions", 0, 0, 0, describe_transactions.handle_describe),
    66: Api("ListTransactions", 0, 2, 0, describe_transactions.handle_list),
    68: Api("ConsumerGroupHeartbeat", 0, 1, 0, consumer_groups.handle_heartbeat),
    69: Api("ConsumerGroupDescribe", 0, 1, 0, consumer_groups.handle_describe),
    74: Api("ListConfigResources", 0, 1, 0, list_config_resources.handle),
    75: Api("DescribeTopicPartitions", 0, 0, 0, describe_topic_partitions.handle),
}

OLD_MIN_VERSIONS: Final[Mapping[int, int]] = {0: 0, 1: 0, 8: 0, 9: 0}
"""API key to the lowest version, for emulated releases that serve messages of magic 0 and 1 too."""
