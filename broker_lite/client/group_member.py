"""What members of a group have in common, whatever protocol the group speaks.

A member is driven by poll(): it never runs by itself. What it was given to read is `assignment`,
where it has got to is noted in `consumed` by who reads; both ways a group can move partitions
commit that first.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, Protocol

from broker_lite.client.client import Client
from broker_lite.client.connection import Connection
from broker_lite.client.errors import NoAnswer, NoConnection, Refused
from broker_lite.client.offsets import commit, fetch_committed
from broker_lite.client.partitions import Topic, TopicPartition
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
        ErrorCode.GROUP_ID_NOT_FOUND,  # of a broker that has begun anew
    }
)
_COMMITTED_LATER: Final = LOST_MEMBERSHIP | {
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.STALE_MEMBER_EPOCH,
}
"""Codes after which a commit is not worth repeating: the group has moved on."""

_PAUSE_S: Final = 0.1


class Membership:
    """What a member knows of itself and of its group.

    Attributes:
        assignment: the partitions to read.
        consumed: the next offset of each partition that was read from; for who reads to fill.
        member_id: empty until there is one.
        generation: of the classic protocol; the member's epoch otherwise.
        topics: what it subscribes to.
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
        """Begin as no member.

        Args:
            client: asks.
            group: its id.
            instance_id: of a static member.
            session_timeout_ms: how long the group may hear nothing, in the classic protocol.
            commit_interval_s: how often to commit what was consumed; None is never.
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
        """A connection of its own to the coordinator: an answer may be long in coming."""
        if self._node_id is None:
            self._node_id = self.client.coordinator(self.group)
        return self.client.connection(self._node_id, self._purpose)

    def begin_end(self) -> None:
        """Use a fresh connection from now on: on the old one an answer may be under way."""
        self._purpose = "end of membership"

    def lose_coordinator(self) -> None:
        """Look for the coordinator anew, in a moment."""
        self._node_id = None
        time.sleep(_PAUSE_S)

    def assign(self, assignment: frozenset[TopicPartition]) -> None:
        """Take an assignment; of what goes nothing is kept, others may read it meanwhile."""
        self.assignment = assignment
        for gone in self.consumed.keys() - assignment:
            del self.consumed[gone]
            self._committed.pop(gone, None)

    def commit_when_due(self) -> None:
        """Commit if the interval is over."""
        if self._commit_interval_s is not None and time.monotonic() >= self._commit_at_s:
            self.commit()

    def commit(self) -> None:
        """Commit what was consumed since the last time.

        Raises:
            Refused: the group does not take it, although this is a member of it.
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
    """How members of a group come to terms; see ClassicProtocol and ConsumerProtocol."""

    def subscription_changed(self, before: Mapping[str, Topic]) -> None:
        """The topics of the membership are others than before."""

    def step(self, wait_s: float) -> None:
        """Do what is due; wait at most so long for an answer that others delay."""

    def leave(self) -> None:
        """Tell the group that this member is gone."""

    def reader(self) -> tuple[str | None, int]:
        """The member id and epoch with which to ask for committed offsets."""


class GroupMember:
    """A member of a group.

    Attributes:
        consumed: the next offset of each partition that was read from; for who reads to fill.
    """

    def __init__(self, membership: Membership, protocol: GroupProtocol) -> None:
        """Prepare to join, which poll() does."""
        self.consumed = membership.consumed
        self._membership = membership
        self._protocol = protocol

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions to read."""
        return self._membership.assignment

    def subscribe(self, topics: Mapping[str, Topic]) -> None:
        """Want these topics from now on."""
        before = self._membership.topics
        self._membership.topics = topics
        self._protocol.subscription_changed(before)

    def poll(self, wait_s: float) -> None:
        """Do what is due: join, stay in touch, take another assignment, commit.

        Args:
            wait_s: how long to wait while a rebalance goes on.

        Raises:
            Refused: the group does not take this member.
            ClientError: the broker cannot be understood.
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
        """Where to begin each partition of the assignment: None is where nothing is committed."""
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
        """Commit and leave, if somebody is there to be told; else the session just ends."""
        with suppress(NoConnection, NoAnswer, Refused):
            self._membership.begin_end()
            self._membership.commit()
            if self._membership.member_id:
                self._protocol.leave()
