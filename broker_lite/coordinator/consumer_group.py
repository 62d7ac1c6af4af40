"""A consumer group (KIP-848): its members, its target assignment, and who holds which partition."""

from enum import Enum

from broker_lite.coordinator.consumer_member import ConsumerMember, Target


class ConsumerGroupState(Enum):
    """The states of a consumer group; the values are Kafka's words (G-77)."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class ConsumerGroup:
    """The state of one consumer group; every change of it is a record of the state log."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.group_epoch = 0
        self.metadata_hash = 0
        self.target_epoch = 0
        self.target_timestamp_ms = 0
        self.members: dict[str, ConsumerMember] = {}
        self.static_members: dict[str, str] = {}
        self.targets: dict[str, Target] = {}
        self.partition_epochs: dict[bytes, dict[int, int]] = {}
