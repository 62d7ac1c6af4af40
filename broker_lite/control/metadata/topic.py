"""A topic and its partitions as the cluster's metadata describes them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

NO_LEADER: Final = -1


class PartitionRegistration(NamedTuple):
    """Who has a partition and who leads it; a change makes a new value.

    Partitions of which all this is the same share one value.

    Attributes:
        leader: id of the broker that leads it, NO_LEADER while there is none.
        leader_epoch: grows with each election, never shrinks (P-89).
        replicas: broker ids in the order of preference.
        isr: the in-sync replicas, which have all that was acknowledged.
        eligible: the eligible leader replicas of KIP-966: they left the ISR when it fell below
            min.insync.replicas, and have all that was acknowledged, too.
        last_leader: while nobody leads, the one that led last as (broker id,); else empty.
        partition_epoch: grows with each change.
        is_recovering: its last election was unclean, and no ISR was agreed on since then.
        adding: the replicas that a reassignment adds and that are not in sync yet; empty if no
            reassignment is in progress.
        removing: the replicas that a reassignment takes away when it is complete.
    """

    leader: int
    leader_epoch: int = 0
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    eligible: tuple[int, ...] = ()
    last_leader: tuple[int, ...] = ()
    partition_epoch: int = 0
    is_recovering: bool = False
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One topic; it is immutable, so a change makes a new object.

    Args:
        name: legal by P-100.
        topic_id: 16 bytes; a topic that is deleted and created again has another (P-92).
        partitions: by their index.
        overrides: the configs set on the topic, Kafka's names to their texts.
        is_internal: whether it is one of Kafka's own topics (P-74).
    """

    name: str
    topic_id: bytes
    partitions: tuple[PartitionRegistration, ...]
    overrides: Mapping[str, str]
    is_internal: bool = False

    @property
    def partition_count(self) -> int:
        """How many partitions it has; their indexes are 0 to partition_count - 1."""
        return len(self.partitions)
