"""The topic that groups need, made as by a client's FindCoordinator, for tests without one."""

from contextlib import suppress
from typing import Final

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.topics.internal_topics import OFFSETS_TOPIC
from broker_lite.errors import BrokerError

GROUP_APIS: Final = frozenset(
    (
        "AlterShareGroupOffsets",
        "ConsumerGroupDescribe",
        "ConsumerGroupHeartbeat",
        "DeleteGroups",
        "DeleteShareGroupOffsets",
        "DescribeGroups",
        "DescribeShareGroupOffsets",
        "Heartbeat",
        "JoinGroup",
        "LeaveGroup",
        "OffsetCommit",
        "OffsetDelete",
        "OffsetFetch",
        "StreamsGroupHeartbeat",
        "StreamsGroupDescribe",
        "ShareGroupDescribe",
        "ShareGroupHeartbeat",
        "SyncGroup",
        "TxnOffsetCommit",
    )
)
"""What a client sends to the coordinator of a group, after it has asked which broker that is."""


def make_offsets_topic(cluster: Cluster) -> None:
    """Make `__consumer_offsets` if it is not there; where it cannot be made nothing happens."""
    if OFFSETS_TOPIC not in cluster.topics:
        with suppress(BrokerError):
            cluster.create_topic(OFFSETS_TOPIC)
