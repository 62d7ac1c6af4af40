"""A member of a classic group, and the states of such a group."""

from collections.abc import Sequence
from enum import Enum

from broker_lite.coordinator.effects import Caller
from broker_lite.coordinator.held_bytes import size_of_new, size_of_protocols

# the name of a protocol (for consumers, of an assignor) and the member's metadata for it
Protocol = tuple[str, bytes]


class ClassicGroupState(Enum):
    """The state of a classic group; the values are Kafka's texts.

    Rule: G-25 to G-29 (ClassicGroupState).
    """

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class ClassicMember:
    """One member: its ids, its protocols, its assignment, and its open requests.

    Attributes:
        member_id: the id that the broker gave it.
        instance_id: the id that a static member gave itself, None for a dynamic one.
        client_id: of the connection that joined.
        client_host: of the connection that joined, as `/1.2.3.4`.
        session_timeout_ms: the member is removed after this time without a heartbeat.
        rebalance_timeout_ms: how long a rebalance waits for it.
        protocols: those that it supports, in its order of preference.
        assignment: the one that the leader gave it.
        join_token: its open JoinGroup, None if it has none.
        sync_token: its open SyncGroup, None if it has none.
        is_new: whether its first JoinGroup has not been answered yet.
    """

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "instance_id",
        "is_new",
        "join_token",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "sync_token",
    )

    def __init__(
        self,
        member_id: str,
        *,
        instance_id: str | None,
        client_id: str,
        client_host: str,
        session_timeout_ms: int,
        rebalance_timeout_ms: int,
        protocols: Sequence[Protocol],
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.protocols = list(protocols)
        self.assignment = assignment
        self.join_token: Caller | None = None
        self.sync_token: Caller | None = None
        self.is_new = False

    def metadata(self, protocol_name: str | None) -> bytes:
        """Return the member's metadata for a protocol, empty if it does not support it."""
        for name, metadata in self.protocols:
            if name == protocol_name:
                return metadata
        return b""


def size_of_classic(member: ClassicMember) -> int:
    """Return the memory of a member of a classic group, with its metadata and assignment."""
    names_bytes = size_of_new(member.member_id, member.instance_id, member.client_id)
    return names_bytes + size_of_protocols(member.protocols) + len(member.assignment)
