"""A consumer group (KIP-848): its members, its epochs and its target assignment."""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Collection, Iterator
from enum import Enum
from typing import Final, NamedTuple
from uuid import UUID

from broker_lite.coordinator.assignors.assignor import Target
from broker_lite.coordinator.consumer.member import NO_TARGET, ConsumerMember, MemberState
from broker_lite.coordinator.consumer.roster import ConsumerRoster
from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.group_records import CONSUMER
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.newer_group import NewerGroup
from broker_lite.coordinator.timers import (
    JOIN,
    REBALANCE,
    SESSION,
    SYNC,
    TimerKey,
    Timers,
)
from broker_lite.coordinator.topics import Topics, TopicView, hash_of_topics
from broker_lite.errors import ErrorCode

# the first version of OffsetCommit that has a member epoch
_EPOCH_COMMIT_VERSION_MIN: Final = 9


class ConsumerGroupState(Enum):
    """The states of a consumer group; the values are Kafka's words (G-77)."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class ResolvedRegex(NamedTuple):
    """The topics that a regular expression matched.

    Attributes:
        topics: names, sorted.
        version: goes up with every change of the matched topics.
        timestamp_ms: when they changed.
    """

    topics: tuple[str, ...]
    version: int
    timestamp_ms: int


class ConsumerGroup(NewerGroup[ConsumerRoster, Target]):
    """One consumer group.

    Args:
        group_id: its id.
        timers: of all groups.
        settings: of this group.
        topics: a live view of all topics.
        make_uuid: returns the text of a random UUID.

    Attributes:
        regexes: the topics that each subscribed regular expression matched.
        regexes_to_match: the expressions that have to be matched with the current topics, the next
            one last; None for all. Not in the log.
        regexes_matched_ms: when all of them had been matched. Not in the log.
        downgrade: called before members are removed; it may convert the group into a classic one
            instead, and returns whether it did.
    """

    __slots__ = ("downgrade", "make_uuid", "regexes", "regexes_matched_ms", "regexes_to_match")

    record_types = CONSUMER

    def __init__(
        self,
        group_id: str,
        timers: Timers[TimerKey],
        settings: GroupSettings,
        topics: Topics,
        make_uuid: Callable[[], str],
    ) -> None:
        super().__init__(group_id, ConsumerRoster(), timers, settings, topics)
        self.make_uuid = make_uuid
        self.downgrade: Callable[[Collection[str], Effects, int], bool] | None = None
        self.regexes: dict[str, ResolvedRegex] = {}
        self.regexes_to_match: list[str] | None = None
        self.regexes_matched_ms = 0

    @property
    def state(self) -> ConsumerGroupState:
        """The state of the group, derived from its members and epochs.

        Rule: G-77 (ConsumerGroup.maybeUpdateGroupState).
        """
        if self.is_deleted:
            return ConsumerGroupState.DEAD
        if not self.roster.members:
            return ConsumerGroupState.EMPTY
        if self.group_epoch > self.target_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(
            member.is_reconciled_to(self.target_epoch) for member in self.roster.members.values()
        ):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    def subscribed_topics(self) -> frozenset[str]:
        """Return the topics that members subscribe to, by name or by a regular expression.

        See: G-74, G-105.
        """
        names = set(self.roster.topic_names)
        for regex in self.regexes.values():
            names.update(regex.topics)
        return frozenset(names)

    def new_member_id(self) -> str:
        """Return a new member id: Kafka's text form of a UUID, which has 22 characters."""
        return urlsafe_b64encode(UUID(self.make_uuid()).bytes).rstrip(b"=").decode()

    def target_of(self, member_id: str) -> Target:
        """Return one member's part of the target assignment."""
        return self.targets.get(member_id, NO_TARGET)

    def topics_hash(self) -> int:
        """Return a hash of the subscribed topics that exist: ids, partition counts and racks.

        See: G-84 (ModernGroup.computeMetadataHash).
        """
        return hash_of_topics(self.topics, self.subscribed_topics(), self._racks)

    def _racks(self, name: str) -> Iterator[bytes]:
        for racks in self.topics.racks(name):
            yield racks.encode() + b"\0"

    def topics_changed(self, names: Collection[str]) -> None:
        """Let the next heartbeat look at topics again that were created, deleted or grew.

        See: G-84 (ModernGroup.requestMetadataRefresh).
        """
        if self.roster.subscribed_regexes or self.roster.has_subscribers_by_name(names):
            self.is_metadata_stale = True
            self.regexes_to_match = None

    # timers

    def start_session(self, member: ConsumerMember, now_ms: int) -> None:
        """Restart a member's session.

        Rule: G-89.
        """
        classic = member.classic
        timeout_ms = (
            self.settings.consumer_session_timeout_ms
            if classic is None
            else classic.session_timeout_ms
        )
        self.timers.set(SESSION, member.member_id, now_ms + timeout_ms)

    def follow_revocation(self, member: ConsumerMember, now_ms: int) -> None:
        """Start the rebalance timer if a member has partitions to give back, otherwise stop it.

        A member that uses the classic protocol has its join and sync timers instead.

        Rule: G-89.
        """
        if member.state is MemberState.UNREVOKED_PARTITIONS and member.classic is None:
            deadline_ms = now_ms + max(member.rebalance_timeout_ms, 0)
            self.timers.set(REBALANCE, member.member_id, deadline_ms)
        else:
            self.timers.cancel(REBALANCE, member.member_id)

    def cancel_timers(self, member_id: str) -> None:
        """Stop all timers of a member."""
        for kind in (SESSION, REBALANCE, JOIN, SYNC):
            self.timers.cancel(kind, member_id)

    def loaded(self, now_ms: int) -> None:
        """Start all sessions and rebalance timers after the log has been read to its end.

        See: G-89 (GroupMetadataManager.onLoaded).
        """
        for member in self.roster.members.values():
            self.start_session(member, now_ms)
            self.follow_revocation(member, now_ms)

    def unload(self) -> None:
        """Stop all timers, before the group is removed from memory."""
        for member_id in self.roster.members:
            self.cancel_timers(member_id)

    # offsets

    def check_commit(
        self,
        *,
        member_id: str,
        instance_id: str | None,
        member_epoch: int,
        version: int,
        is_transactional: bool,
    ) -> ErrorCode | None:
        """Return the error of an offset commit, or None if it is allowed.

        After STALE_MEMBER_EPOCH the commit of single partitions may still be allowed, see
        `ConsumerMember.assignment_epoch`.

        Args:
            member_id: of the request.
            instance_id: of the request; it is not compared with the member's.
            member_epoch: of the request, or its generation.
            version: of the request.
            is_transactional: whether the offsets belong to a transaction (T-41).

        Rule: G-63 (ConsumerGroup.validateOffsetCommit).
        """
        if member_epoch < 0 and not self.roster.members:
            return None
        if is_transactional and member_epoch == -1 and not member_id and instance_id is None:
            return None
        member = self.roster.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        is_old = version < _EPOCH_COMMIT_VERSION_MIN and not is_transactional
        if is_old and member.classic is None:
            return ErrorCode.UNSUPPORTED_VERSION
        return _epoch_error(member, member_epoch)

    def assignment_epoch(self, member_id: str, topic: TopicView, partition: int) -> int | None:
        """Return since which epoch a member has a partition, None if it does not have it.

        See: G-63.
        """
        member = self.roster.members.get(member_id)
        return None if member is None else member.assignment_epoch(topic.topic_id, partition)

    def check_fetch(self, *, member_id: str | None, member_epoch: int) -> ErrorCode | None:
        """Return the error of an offset fetch, or None if it is allowed.

        Rule: G-69 (ConsumerGroup.validateOffsetFetch).
        """
        if member_id is None and member_epoch < 0:
            return None
        member = self.roster.members.get(member_id or "")
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return _epoch_error(member, member_epoch)


def _epoch_error(member: ConsumerMember, epoch: int) -> ErrorCode | None:
    if epoch == member.member_epoch:
        return None
    if member.classic is not None:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.STALE_MEMBER_EPOCH
