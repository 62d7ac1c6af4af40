"""A member of a group, for both group protocols.

A member does everything within poll(). `assignment` has its partitions. The caller notes in
`consumed` how far it has read, and both protocols commit that before a partition moves.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, Protocol

from broker_lite.client.broker_connection import Connection
from broker_lite.client.client import Client
from broker_lite.client.errors import NoAnswer, NoConnection, Refused
from broker_lite.client.partition_offsets import commit, fetch_committed
from broker_lite.client.topic_partitions import Topic, TopicPartition
from broker_lite.errors import ErrorCode

REBALANCE_TIMEOUT_MS: Final = 300_000
NO_GENERATION: Final = -1

LOST_COORDINATOR: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
LOST_MEMBERSHIP: Final = frozenset(
    {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.GROUP_ID_NOT_FOUND,  # from a broker that lost its data
    }
)
_COMMITTED_LATER: Final = LOST_MEMBERSHIP | {
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.STALE_MEMBER_EPOCH,
}
"""Codes after which a commit is not retried, because a rebalance is in progress or done."""

_PAUSE_S: Final = 0.1


class Membership:
    """The state of a member.

    Attributes:
        assignment: the partitions to read.
        consumed: the next offset of each partition; written by the caller.
        member_id: empty before the first join.
        generation: in the classic protocol; otherwise the member's epoch.
        topics: the subscription.
    """

    def __init__(
        self,
        client: Client,
        group: str,
        *,
        instance_id: str | None = None,
        session_timeout_ms: int = 45_000,
        commit_interval_s: float | None = 5.0,
    ) -> None:
        """Keep the arguments; the protocol joins the group.

        Args:
            client: of the cluster.
            group: its id.
            instance_id: of a static member.
            session_timeout_ms: in the classic protocol, how long the member may be silent.
            commit_interval_s: how often to commit; None for never.
        """
        self.client = client
        self.group = group
        self.instance_id = instance_id
        self.session_timeout_ms = session_timeout_ms
        self.assignment: frozenset[TopicPartition] = frozenset()
        self.consumed: dict[TopicPartition, int] = {}
        self.member_id = ""
        self.generation = NO_GENERATION
        self.topics: Mapping[str, Topic] = {}
        self._node_id: int | None = None
        self._purpose = "membership"
        self._committed: dict[TopicPartition, int] = {}
        self._commit_interval_s = commit_interval_s
        self._commit_at_s = time.monotonic() + (commit_interval_s or 0)

    def connection(self) -> Connection:
        """Return a separate connection to the coordinator, because its responses may take long."""
        if self._node_id is None:
            self._node_id = self.client.coordinator(self.group)
        return self.client.connection(self._node_id, self._purpose)

    def begin_end(self) -> None:
        """Use a new connection from now on, because the old one may wait for a response."""
        self._purpose = "end of membership"

    def lose_coordinator(self) -> None:
        """Forget the coordinator, and pause before looking for it again."""
        self._node_id = None
        time.sleep(_PAUSE_S)

    def assign(self, assignment: frozenset[TopicPartition]) -> None:
        """Set the assignment; forget lost partitions, which others may read from now on."""
        self.assignment = assignment
        for gone in self.consumed.keys() - assignment:
            del self.consumed[gone]
            self._committed.pop(gone, None)

    def commit_when_due(self) -> None:
        """Commit if the interval has passed."""
        if self._commit_interval_s is not None and time.monotonic() >= self._commit_at_s:
            self.commit()

    def commit(self) -> None:
        """Commit the positions that changed since the last commit.

        Raises:
            Refused: the group refused, although this is a member.
        """
        self._commit_at_s = time.monotonic() + (self._commit_interval_s or 0)
        offsets = {
            partition: offset
            for partition, offset in self.consumed.items()
            if self._committed.get(partition) != offset and partition in self.assignment
        }
        if self._commit_interval_s is None or not offsets or self.generation == NO_GENERATION:
            return
        try:
            commit(
                self.connection(),
                self.group,
                offsets,
                member_id=self.member_id,
                generation=self.generation,
                instance_id=self.instance_id,
            )
        except Refused as error:
            if error.code not in _COMMITTED_LATER:
                raise
        else:
            self._committed |= offsets


class GroupProtocol(Protocol):
    """A group protocol; see ClassicProtocol and ConsumerProtocol."""

    def subscription_changed(self, before: Mapping[str, Topic]) -> None:
        """Called after the topics of the membership have changed."""

    def step(self, wait_s: float) -> None:
        """Run due work; wait at most `wait_s` for a response that other members delay."""

    def leave(self) -> None:
        """Leave the group."""

    def reader(self) -> tuple[str | None, int]:
        """Return the member id and epoch with which to ask for committed offsets."""


class GroupMember:
    """A member of a group.

    Attributes:
        consumed: the next offset of each partition that was read from; for who reads to fill.
    """

    def __init__(self, membership: Membership, protocol: GroupProtocol) -> None:
        """Keep the arguments; poll() joins."""
        self.consumed = membership.consumed
        self._membership = membership
        self._protocol = protocol

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions to read."""
        return self._membership.assignment

    def subscribe(self, topics: Mapping[str, Topic]) -> None:
        """Subscribe to these topics."""
        before = self._membership.topics
        self._membership.topics = topics
        self._protocol.subscription_changed(before)

    def poll(self, wait_s: float) -> None:
        """Run due work: join, send heartbeats, apply a new assignment, commit.

        Args:
            wait_s: how long to wait during a rebalance.

        Raises:
            Refused: the group refused this member.
            ClientError: a response cannot be read.
        """
        try:
            self._protocol.step(wait_s)
            self._membership.commit_when_due()
        except (NoConnection, NoAnswer):
            self._membership.lose_coordinator()
        except Refused as error:
            if error.code not in LOST_COORDINATOR:
                raise
            self._membership.lose_coordinator()

    def start_positions(self) -> dict[TopicPartition, int | None]:
        """Return the start of each assigned partition; None without a committed offset."""
        membership = self._membership
        found: dict[TopicPartition, int | None] = dict.fromkeys(membership.assignment)
        wanted = membership.assignment - self.consumed.keys()
        if wanted:
            member_id, epoch = self._protocol.reader()
            committed = membership.client.retry(
                lambda: fetch_committed(
                    membership.connection(),
                    membership.group,
                    wanted,
                    member_id=member_id,
                    member_epoch=epoch,
                )
            )
            found |= {partition: each.offset for partition, each in committed.items()}
        return found | self.consumed

    def close(self) -> None:
        """Commit and leave, if the coordinator is reachable; else the session times out."""
        with suppress(NoConnection, NoAnswer, Refused):
            self._membership.begin_end()
            self._membership.commit()
            if self._membership.member_id:
                self._protocol.leave()
