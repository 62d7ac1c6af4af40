"""A consumer group with what it needs around it: settings, topics, timers, and who is put out."""

from collections.abc import Callable, Collection
from hashlib import blake2b
from typing import Final

from broker_lite.coordinator.consumer import changes
from broker_lite.coordinator.consumer.member import ConsumerMember, MemberState
from broker_lite.coordinator.consumer.state import ConsumerGroupData
from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.timers import Timers
from broker_lite.coordinator.topics import Topics

TimerKey = tuple[str, str, str]
"""Group id, kind of timer, member id."""

SESSION_TIMER: Final = "session"
REBALANCE_TIMER: Final = "rebalance"
# of members that use the classic protocol: to join again, and to fetch the assignment then
JOIN_TIMER: Final = "join"
SYNC_TIMER: Final = "sync"
_TIMERS: Final = (SESSION_TIMER, REBALANCE_TIMER, JOIN_TIMER, SYNC_TIMER)


class ConsumerGroupCore(ConsumerGroupData):
    """What heartbeats, timers and the classic protocol's requests of a consumer group share.

    Args:
        group_id: Its name.
        timers: of the coordinator; every key starts with this group's id.
        settings: of this group.
        topics: those of the moment.
        make_uuid: gives the text of a random UUID.

    Attributes:
        downgrade: asked before members are put out; it may turn the group into a classic one
            instead, and then says so.
    """

    def __init__(
        self,
        group_id: str,
        timers: Timers[TimerKey],
        settings: GroupSettings,
        topics: Topics,
        make_uuid: Callable[[], str],
    ) -> None:
        super().__init__(group_id)
        self.timers = timers
        self.settings = settings
        self.topics = topics
        self.make_uuid = make_uuid
        self.downgrade: Callable[[Collection[str], Effects, int], bool] | None = None

    def start_session(self, member: ConsumerMember, now_ms: int) -> None:
        """Start a member's session anew.

        Rule: G-89.
        """
        classic = member.classic
        timeout_ms = (
            self.settings.consumer_session_timeout_ms
            if classic is None
            else classic.session_timeout_ms
        )
        self.timers.set((self.group_id, SESSION_TIMER, member.member_id), now_ms + timeout_ms)

    def follow_revocation(self, member: ConsumerMember, now_ms: int) -> None:
        """Run the rebalance timer as long as a member owes partitions, and only then.

        A member that uses the classic protocol has its join and sync timers for that.

        Rule: G-89.
        """
        key = (self.group_id, REBALANCE_TIMER, member.member_id)
        if member.state is MemberState.UNREVOKED_PARTITIONS and member.classic is None:
            self.timers.set(key, now_ms + max(member.rebalance_timeout_ms, 0))
        else:
            self.timers.cancel(key)

    def cancel_timers(self, member_id: str) -> None:
        """Stop all timers of a member."""
        for kind in _TIMERS:
            self.timers.cancel((self.group_id, kind, member_id))

    def put_out(self, member_ids: Collection[str], effects: Effects, now_ms: int) -> None:
        """Remove members for good, and ask for a new assignment.

        Args:
            member_ids: known ones; none for no change at all.
            effects: gets the records.
            now_ms: the time.

        Rule: G-89 (consumerGroupFenceMembers).
        See: G-79.
        """
        if not member_ids:
            return
        if self.downgrade is not None and self.downgrade(member_ids, effects, now_ms):
            return
        regexes = dict.fromkeys(self.members[member_id].regex for member_id in member_ids)
        for member_id in member_ids:
            changes.drop_member(self, member_id, effects)
            self.cancel_timers(member_id)
        for regex in regexes:
            if regex and not self.subscribers_of_regex(regex):
                changes.drop_regex(self, regex, effects)
        changes.put_group_epoch(self, self.group_epoch + 1, self.topics_hash(), effects)

    def topics_hash(self) -> int:
        """A number that changes when the subscribed topics do: which exist, how large they are.

        Kafka has another function, so a log that changes hands costs one rebalance.

        See: G-84 (ModernGroup.computeMetadataHash).
        """
        digest = blake2b(digest_size=8)
        is_empty = True
        for name in sorted(self.subscribed_names):
            topic = self.topics.get(name)
            if topic is not None:
                is_empty = False
                digest.update(topic.topic_id + topic.partition_count.to_bytes(4))
        return 0 if is_empty else int.from_bytes(digest.digest(), signed=True)
