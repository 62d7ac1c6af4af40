"""A share group: its members, its epochs, its target assignment, its partitions with a state.

A difference to Kafka: the partitions that share groups read from take memory of
`broker.lite.groups.max.bytes`. A member that subscribes to more than there is memory for is refused
as if its group were full.

Rule: K-37.
"""

from collections.abc import Collection, Mapping
from enum import Enum
from typing import Final, NamedTuple

from broker_lite.coordinator.assignors.assignor import Target
from broker_lite.coordinator.group_records import SHARE
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.held_bytes import size_of_text
from broker_lite.coordinator.newer_group import NewerGroup
from broker_lite.coordinator.share.member import NO_TARGET, ShareMember
from broker_lite.coordinator.share.roster import ShareRoster
from broker_lite.coordinator.timers import SESSION, TimerKey, Timers
from broker_lite.coordinator.topics import Topics, hash_of_topics

ASSIGNOR: Final = "simple"
"""The only assignor of share groups."""


STATE_BYTES: Final = 1536
"""The memory of a partition with a state, without the group id: measured with 2,000 of them."""


class ShareGroupState(Enum):
    """The states of a share group; the values are Kafka's words."""

    EMPTY = "Empty"
    STABLE = "Stable"
    DEAD = "Dead"


class StatefulTopic(NamedTuple):
    """A topic with partitions whose state for the group exists.

    Attributes:
        name: of the topic.
        partitions: those with a state.
    """

    name: str
    partitions: frozenset[int]


NO_STATE: Final = StatefulTopic("", frozenset())
"""Of a topic of which no partition has a state."""


class ShareGroup(NewerGroup[ShareRoster, Target]):
    """One share group.

    Args:
        group_id: its id.
        timers: of all groups.
        settings: of this group.
        topics: a live view of all topics.

    Attributes:
        stateful: the topics with partitions whose state exists, by topic id; changed by
            put_stateful().
        has_left_out: whether the log still has topics in `stateful` that were deleted.

    See: K-01 (ShareGroup).
    """

    __slots__ = ("has_left_out", "stateful")

    record_types = SHARE

    def __init__(
        self, group_id: str, timers: Timers[TimerKey], settings: GroupSettings, topics: Topics
    ) -> None:
        super().__init__(group_id, ShareRoster(), timers, settings, topics)
        self.stateful: dict[bytes, StatefulTopic] = {}
        self.has_left_out = False

    @property
    def state(self) -> ShareGroupState:
        """The state of the group, derived from its members."""
        if self.is_deleted:
            return ShareGroupState.DEAD
        return ShareGroupState.STABLE if self.roster.members else ShareGroupState.EMPTY

    @property
    def is_unused(self) -> bool:
        """Whether it has had no member yet, and no offset."""
        return self.is_unwritten and not self.stateful

    def subscribed_topics(self) -> frozenset[str]:
        """Return the topics that members subscribe to."""
        return frozenset(self.roster.subscribers)

    def target_of(self, member_id: str) -> Target:
        """Return one member's part of the target assignment."""
        return self.targets.get(member_id, NO_TARGET)

    def topics_hash(self) -> int:
        """Return a hash of the subscribed topics that exist: ids and partition counts."""
        return hash_of_topics(self.topics, self.roster.subscribers)

    def put_stateful(self, stateful: dict[bytes, StatefulTopic]) -> None:
        """Replace the topics with partitions whose state exists, and count their memory."""
        more = _partition_count(stateful) - _partition_count(self.stateful)
        self.roster.held.add(more * self.state_bytes)
        self.stateful = stateful
        self.has_left_out = False

    def _leave_out(self, topic_ids: Collection[bytes]) -> None:
        """Forget topics that were deleted, and no longer count the memory of their states.

        They are no longer written either, as soon as a heartbeat looks at the topics again.
        """
        if topic_ids:
            stateful = {each: one for each, one in self.stateful.items() if each not in topic_ids}
            self.put_stateful(stateful)
            self.has_left_out = True

    @property
    def state_bytes(self) -> int:
        """The memory of the state of a partition."""
        return STATE_BYTES + size_of_text(self.group_id)

    def topics_changed(self, names: Collection[str]) -> None:
        """Let the next heartbeat look at topics again that were created, deleted or grew.

        See: K-37.
        """
        changed = [each for each, topic in self.stateful.items() if topic.name in names]
        self._leave_out({each for each in changed if self.topics.by_id(each) is None})
        if not self.subscribed_topics().isdisjoint(names):
            self.is_metadata_stale = True

    def start_session(self, member: ShareMember, now_ms: int) -> None:
        """Restart a member's session."""
        deadline_ms = now_ms + self.settings.share_session_timeout_ms
        self.timers.set(SESSION, member.member_id, deadline_ms)

    def loaded(self, now_ms: int) -> None:
        """Start all sessions after the log has been read to its end; leave out deleted topics."""
        self._leave_out({each for each in self.stateful if self.topics.by_id(each) is None})
        for member in self.roster.members.values():
            self.start_session(member, now_ms)

    def unload(self) -> None:
        """Stop all timers, before the group is removed from memory."""
        for member_id in self.roster.members:
            self.timers.cancel(SESSION, member_id)


def _partition_count(stateful: Mapping[bytes, StatefulTopic]) -> int:
    return sum(len(topic.partitions) for topic in stateful.values())
