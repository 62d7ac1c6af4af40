"""A topic as the cluster's metadata describes it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One topic; a change makes a new value.

    Args:
        name: legal by P-100.
        topic_id: 16 bytes; a topic that is deleted and created again has another (P-92).
        leader_epochs: one per partition; grows at a change of leader, never shrinks (P-89).
        overrides: the configs set on the topic, Kafka's names to their texts.
        is_internal: whether it is one of Kafka's own topics (P-74).
    """

    name: str
    topic_id: bytes
    leader_epochs: tuple[int, ...]
    overrides: Mapping[str, str]
    is_internal: bool = False

    @property
    def partition_count(self) -> int:
        """How many partitions it has; their indexes are 0 to partition_count - 1."""
        return len(self.leader_epochs)
