"""A topic in the cluster's metadata."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One topic; it is immutable, so a change makes a new object.

    Args:
        name: legal by P-100.
        topic_id: 16 bytes; a topic that is deleted and created again gets a new id (P-92).
        leader_epochs: of each partition; an epoch grows with a change of the leader (P-89).
        overrides: the configs that are set on the topic, as texts by Kafka's names.
        is_internal: whether it is one of Kafka's own topics (P-74).
    """

    name: str
    topic_id: bytes
    leader_epochs: tuple[int, ...]
    overrides: Mapping[str, str]
    is_internal: bool = False

    @property
    def partition_count(self) -> int:
        """The number of its partitions; their indexes are 0 to partition_count - 1."""
        return len(self.leader_epochs)
