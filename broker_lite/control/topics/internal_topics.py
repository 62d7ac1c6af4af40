"""Kafka's internal topics, with the configs that the broker creates them with at their first use.

A client may create one of them, too, and chooses its configs as for any other topic.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.settings import Settings

OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"
SHARE_TOPIC: Final = "__share_group_state"


def _offsets_topic(settings: Settings) -> NewTopic:
    """Source: GroupCoordinatorService.groupMetadataTopicConfigs."""
    return NewTopic(
        OFFSETS_TOPIC,
        settings.offsets_topic_num_partitions,
        settings.offsets_topic_replication_factor,
        configs=(
            ("cleanup.policy", "compact"),
            ("compression.type", "producer"),
            ("segment.bytes", str(settings.offsets_topic_segment_bytes)),
        ),
    )


def _transactions_topic(settings: Settings) -> NewTopic:
    """Source: TransactionCoordinator.transactionStateTopicConfigs."""
    return NewTopic(
        TRANSACTIONS_TOPIC,
        settings.transaction_state_log_num_partitions,
        settings.transaction_state_log_replication_factor,
        configs=(
            ("cleanup.policy", "compact"),
            ("compression.type", "uncompressed"),
            ("min.insync.replicas", str(settings.transaction_state_log_min_isr)),
            ("segment.bytes", str(settings.transaction_state_log_segment_bytes)),
            ("unclean.leader.election.enable", "false"),
        ),
    )


def _share_topic(settings: Settings) -> NewTopic:
    """Source: ShareCoordinatorService.shareGroupStateTopicConfigs."""
    return NewTopic(
        SHARE_TOPIC,
        settings.share_coordinator_state_topic_num_partitions,
        settings.share_coordinator_state_topic_replication_factor,
        configs=(
            ("cleanup.policy", "delete"),
            ("compression.type", "producer"),
            ("min.insync.replicas", str(settings.share_coordinator_state_topic_min_isr)),
            ("retention.ms", "-1"),
            ("segment.bytes", str(settings.share_coordinator_state_topic_segment_bytes)),
        ),
    )


_MAKE: Final[Mapping[str, Callable[[Settings], NewTopic]]] = MappingProxyType(
    {
        OFFSETS_TOPIC: _offsets_topic,
        TRANSACTIONS_TOPIC: _transactions_topic,
        SHARE_TOPIC: _share_topic,
    }
)


def automatic_topic(settings: Settings, name: str) -> NewTopic:
    """Return the plan of a topic that is created automatically at its first use.

    See: P-85 (AutoTopicCreationManager.creatableTopic).
    """
    make = _MAKE.get(name)
    return NewTopic(name) if make is None else make(settings)


def partition_count(settings: Settings, name: str) -> int:
    """Return how many partitions a state topic gets when it is created."""
    return _MAKE[name](settings).partition_count
