"""The one table of APIs: key, name, all versions there is code for, first flexible one, handler.

What is offered is a part of it, see the module `offered`. ApiVersions answers from that part, the
dispatcher indexes it, the README's table is made from it. A handler gets the table as offered on
its listener in `context.apis`, it never imports this module.

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
    0: Api("Produce", produce.MIN_VERSION, produce.MAX_VERSION, 9, produce.handle),
    1: Api("Fetch", fetch.MIN_VERSION, fetch.MAX_VERSION, 12, fetch.handle),
    2: Api(
        "ListOffsets", list_offsets.MIN_VERSION, list_offsets.MAX_VERSION, 6, list_offsets.handle
    ),
    3: Api("Metadata", metadata.MIN_VERSION, metadata.MAX_VERSION, 9, metadata.handle),
    8: Api(
        "OffsetCommit",
        offset_commits.COMMIT_MIN_VERSION,
        offset_commits.COMMIT_MAX_VERSION,
        8,
        offset_commits.handle_commit,
    ),
    9: Api(
        "OffsetFetch",
        offset_commits.FETCH_MIN_VERSION,
        offset_commits.FETCH_MAX_VERSION,
        6,
        offset_commits.handle_fetch,
    ),
    10: Api(
        "FindCoordinator",
        find_coordinator.MIN_VERSION,
        find_coordinator.MAX_VERSION,
        3,
        find_coordinator.handle,
    ),
    11: Api(
        "JoinGroup",
        group_membership.JOIN_MIN_VERSION,
        group_membership.JOIN_MAX_VERSION,
        6,
        group_membership.handle_join,
    ),
    12: Api(
        "Heartbeat",
        group_membership.HEARTBEAT_MIN_VERSION,
        group_membership.HEARTBEAT_MAX_VERSION,
        4,
        group_membership.handle_heartbeat,
    ),
    13: Api(
        "LeaveGroup",
        group_membership.LEAVE_MIN_VERSION,
        group_membership.LEAVE_MAX_VERSION,
        4,
        group_membership.handle_leave,
    ),
    14: Api(
        "SyncGroup",
        group_membership.SYNC_MIN_VERSION,
        group_membership.SYNC_MAX_VERSION,
        4,
        group_membership.handle_sync,
    ),
    15: Api(
        "DescribeGroups",
        group_admin.DESCRIBE_MIN_VERSION,
        group_admin.DESCRIBE_MAX_VERSION,
        5,
        group_admin.handle_describe,
    ),
    16: Api(
        "ListGroups",
        group_admin.LIST_MIN_VERSION,
        group_admin.LIST_MAX_VERSION,
        3,
        group_admin.handle_list,
    ),
    18: Api(
        "ApiVersions", api_versions.MIN_VERSION, api_versions.MAX_VERSION, 3, api_versions.handle
    ),
    19: Api(
        "CreateTopics",
        create_topics.MIN_VERSION,
        create_topics.MAX_VERSION,
        5,
        create_topics.handle,
    ),
    20: Api(
        "DeleteTopics",
        delete_topics.MIN_VERSION,
        delete_topics.MAX_VERSION,
        4,
        delete_topics.handle,
    ),
    21: Api(
        "DeleteRecords",
        delete_records.MIN_VERSION,
        delete_records.MAX_VERSION,
        2,
        delete_records.handle,
    ),
    22: Api(
        "InitProducerId", producer_ids.MIN_VERSION, producer_ids.MAX_VERSION, 2, producer_ids.handle
    ),
    23: Api(
        "OffsetForLeaderEpoch",
        offset_for_leader_epoch.MIN_VERSION,
        offset_for_leader_epoch.MAX_VERSION,
        4,
        offset_for_leader_epoch.handle,
    ),
    24: Api(
        "AddPartitionsToTxn",
        transaction_partitions.PARTITIONS_MIN_VERSION,
        transaction_partitions.PARTITIONS_MAX_VERSION,
        3,
        transaction_partitions.handle_partitions,
    ),
    25: Api(
        "AddOffsetsToTxn",
        transaction_partitions.OFFSETS_MIN_VERSION,
        transaction_partitions.OFFSETS_MAX_VERSION,
        3,
        transaction_partitions.handle_offsets,
    ),
    26: Api(
        "EndTxn",
        end_transactions.END_MIN_VERSION,
        end_transactions.END_MAX_VERSION,
        3,
        end_transactions.handle_end,
    ),
    27: Api(
        "WriteTxnMarkers",
        end_transactions.MARKERS_MIN_VERSION,
        end_transactions.MARKERS_MAX_VERSION,
        1,
        end_transactions.handle_markers,
    ),
    28: Api(
        "TxnOffsetCommit",
        txn_offset_commit.MIN_VERSION,
        txn_offset_commit.MAX_VERSION,
        3,
        txn_offset_commit.handle,
    ),
    29: Api(
        "DescribeAcls",
        acls.MIN_VERSION,
        acls.MAX_VERSION,
        2,
        acls.handle_describe,
    ),
    30: Api(
        "CreateAcls",
        acls.MIN_VERSION,
        acls.MAX_VERSION,
        2,
        acls.handle_create,
    ),
    31: Api(
        "DeleteAcls",
        acls.MIN_VERSION,
        acls.MAX_VERSION,
        2,
        acls.handle_delete,
    ),
    32: Api(
        "DescribeConfigs",
        describe_configs.MIN_VERSION,
        describe_configs.MAX_VERSION,
        4,
        describe_configs.handle,
    ),
    33: Api(
        "AlterConfigs",
        alter_configs.ALTER_MIN_VERSION,
        alter_configs.ALTER_MAX_VERSION,
        2,
        alter_configs.handle_alter,
    ),
    34: Api(
        "AlterReplicaLogDirs",
        alter_replica_log_dirs.MIN_VERSION,
        alter_replica_log_dirs.MAX_VERSION,
        2,
        alter_replica_log_dirs.handle,
    ),
    35: Api(
        "DescribeLogDirs",
        describe_log_dirs.MIN_VERSION,
        describe_log_dirs.MAX_VERSION,
        2,
        describe_log_dirs.handle,
    ),
    37: Api(
        "CreatePartitions",
        create_partitions.MIN_VERSION,
        create_partitions.MAX_VERSION,
        2,
        create_partitions.handle,
    ),
    42: Api(
        "DeleteGroups",
        group_admin.DELETE_MIN_VERSION,
        group_admin.DELETE_MAX_VERSION,
        2,
        group_admin.handle_delete,
    ),
    43: Api(
        "ElectLeaders",
        elect_leaders.MIN_VERSION,
        elect_leaders.MAX_VERSION,
        2,
        elect_leaders.handle,
    ),
    44: Api(
        "IncrementalAlterConfigs",
        alter_configs.INCREMENTAL_MIN_VERSION,
        alter_configs.INCREMENTAL_MAX_VERSION,
        1,
        alter_configs.handle_incremental,
    ),
    45: Api(
        "AlterPartitionReassignments",
        reassignments.ALTER_MIN_VERSION,
        reassignments.ALTER_MAX_VERSION,
        0,
        reassignments.handle_alter,
    ),
    46: Api(
        "ListPartitionReassignments",
        reassignments.LIST_MIN_VERSION,
        reassignments.LIST_MAX_VERSION,
        0,
        reassignments.handle_list,
    ),
    47: Api(
        "OffsetDelete",
        offset_commits.DELETE_MIN_VERSION,
        offset_commits.DELETE_MAX_VERSION,
        NEVER_FLEXIBLE,
        offset_commits.handle_delete,
    ),
    48: Api(
        "DescribeClientQuotas",
        client_quotas.MIN_VERSION,
        client_quotas.MAX_VERSION,
        1,
        client_quotas.handle_describe,
    ),
    49: Api(
        "AlterClientQuotas",
        client_quotas.MIN_VERSION,
        client_quotas.MAX_VERSION,
        1,
        client_quotas.handle_alter,
    ),
    50: Api(
        "DescribeUserScramCredentials",
        scram_credentials.MIN_VERSION,
        scram_credentials.MAX_VERSION,
        0,
        scram_credentials.handle_describe,
    ),
    51: Api(
        "AlterUserScramCredentials",
        scram_credentials.MIN_VERSION,
        scram_credentials.MAX_VERSION,
        0,
        scram_credentials.handle_alter,
    ),
    55: Api(
        "DescribeQuorum",
        describe_quorum.MIN_VERSION,
        describe_quorum.MAX_VERSION,
        0,
        describe_quorum.handle,
    ),
    57: Api(
        "UpdateFeatures",
        update_features.MIN_VERSION,
        update_features.MAX_VERSION,
        0,
        update_features.handle,
    ),
    60: Api(
        "DescribeCluster",
        describe_cluster.MIN_VERSION,
        describe_cluster.MAX_VERSION,
        0,
        describe_cluster.handle,
    ),
    61: Api(
        "DescribeProducers",
        describe_producers.MIN_VERSION,
        describe_producers.MAX_VERSION,
        0,
        describe_producers.handle,
    ),
    65: Api(
        "DescribeTransactions",
        describe_transactions.DESCRIBE_MIN_VERSION,
        describe_transactions.DESCRIBE_MAX_VERSION,
        0,
        describe_transactions.handle_describe,
    ),
    66: Api(
        "ListTransactions",
        describe_transactions.LIST_MIN_VERSION,
        describe_transactions.LIST_MAX_VERSION,
        0,
        describe_transactions.handle_list,
    ),
    68: Api(
        "ConsumerGroupHeartbeat",
        consumer_groups.HEARTBEAT_MIN_VERSION,
        consumer_groups.HEARTBEAT_MAX_VERSION,
        0,
        consumer_groups.handle_heartbeat,
    ),
    69: Api(
        "ConsumerGroupDescribe",
        consumer_groups.DESCRIBE_MIN_VERSION,
        consumer_groups.DESCRIBE_MAX_VERSION,
        0,
        consumer_groups.handle_describe,
    ),
    74: Api(
        "ListConfigResources",
        list_config_resources.MIN_VERSION,
        list_config_resources.MAX_VERSION,
        0,
        list_config_resources.handle,
    ),
    75: Api(
        "DescribeTopicPartitions",
        describe_topic_partitions.MIN_VERSION,
        describe_topic_partitions.MAX_VERSION,
        0,
        describe_topic_partitions.handle,
    ),
}

OLD_MIN_VERSIONS: Final[Mapping[int, int]] = {
    0: produce.OLD_MIN_VERSION,
    1: fetch.OLD_MIN_VERSION,
    8: offset_commits.OLD_MIN_VERSION,
    9: offset_commits.OLD_MIN_VERSION,
}
"""API key to the lowest version of a broker that serves messages of magic 0 and 1 too."""
