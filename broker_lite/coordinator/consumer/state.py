"""What a consumer group consists of, and how it changes; no rule of the protocol lives here.

Every method that changes something is the effect of one record of the state log, so a group that
is read back from its records is the group that wrote them. What can be derived (who owns a
partition, how many members subscribe to a name) is kept up to date here, member by member, so that
a heartbeat never has to look at all members.
"""

from collections import Counter
from collections.abc import Iterable
from enum import Enum
from typing import Final, NamedTuple

from broker_lite.coordinator.assignors.assignor import Target
from broker_lite.coordinator.consumer.member import (
    NO_TARGET,
    Assigned,
    ConsumerMember,
    size_of_subscription,
)
from broker_lite.coordinator.held_bytes import HeldBytes

# a group starts with an assignment of nothing to nobody, so its first member sees epoch 2 (G-88)
_FIRST_EPOCH: Final = 1


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
        version: of the metadata that was looked at; goes up with every look.
        timestamp_ms: when that was.
    """

    topics: tuple[str, ...]
    version: int
    timestamp_ms: int


class ConsumerGroupData:
    """The state of one consumer group.

    Attributes:
        group_epoch: goes up with every change that asks for a new target assignment. A group
            without a record of it is at the first one.
        metadata_hash: of the subscribed topics as they were at that epoch.
        target_epoch: the group epoch that the target assignment was computed for.
        target_timestamp_ms: when that was.
        members: by member id.
        static_members: member ids by instance id.
        targets: the target assignment, by member id.
        regexes: what the subscribed regular expressions matched.
        regexes_to_match: those that are still to be held against the topics of now, the next one
            last; None for all. Not in the log, as the following.
        held: what the members take in memory. Not in the log.
        is_metadata_stale: topics may have changed since the hash was computed. Not in the log: a
            group that was read back looks again.
    """

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.group_epoch = _FIRST_EPOCH
        self.metadata_hash = 0
        self.target_epoch = _FIRST_EPOCH
        self.target_timestamp_ms = 0
        self.members: dict[str, ConsumerMember] = {}
        self.static_members: dict[str, str] = {}
        self.targets: dict[str, Target] = {}
        self.regexes: dict[str, ResolvedRegex] = {}
        self.is_deleted = False
        self.is_metadata_stale = True
        self.regexes_to_match: list[str] | None = None
        self.held = HeldBytes()
        self._owners: dict[bytes, dict[int, str]] = {}
        self._name_counts: Counter[str] = Counter()
        self._regex_counts: Counter[str] = Counter()
        self._assignor_counts: Counter[str] = Counter()
        self._classic_count = 0
        self._protocol_counts: Counter[str] = Counter()

    @property
    def state(self) -> ConsumerGroupState:
        """Where the group is between two assignments.

        Rule: G-77 (ConsumerGroup.maybeUpdateGroupState).
        """
        if self.is_deleted:
            return ConsumerGroupState.DEAD
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.group_epoch > self.target_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(member.is_reconciled_to(self.target_epoch) for member in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    @property
    def is_unwritten(self) -> bool:
        """Whether nothing about the group can be in the log yet."""
        return self.group_epoch == _FIRST_EPOCH and not self.members

    @property
    def classic_count(self) -> int:
        """How many members use the classic protocol."""
        return self._classic_count

    def classic_members_know_one_of(self, names: Iterable[str]) -> bool:
        """Whether all members of the classic protocol know one of these assignors.

        See: G-108 (ConsumerGroup.supportsClassicProtocols).
        """
        return any(self._protocol_counts[name] == self._classic_count for name in names)

    @property
    def subscribed_names(self) -> frozenset[str]:
        """The topics that members subscribe to, by name or by a regular expression."""
        names = set(self._name_counts)
        for regex in self.regexes.values():
            names.update(regex.topics)
        return frozenset(names)

    @property
    def subscribed_regexes(self) -> frozenset[str]:
        """The regular expressions that members subscribe to, matched yet or not."""
        return frozenset(self._regex_counts)

    def has_subscribers_by_name(self, names: Iterable[str]) -> bool:
        """Whether a member subscribes to one of these topics by its name."""
        return any(name in self._name_counts for name in names)

    def subscribers_of_regex(self, regex: str) -> int:
        """How many members subscribe to a regular expression."""
        return self._regex_counts[regex]

    def owner_of(self, topic_id: bytes, partition: int) -> str | None:
        """The member that has a partition, or has yet to give it back.

        Rule: G-94.
        """
        return self._owners.get(topic_id, {}).get(partition)

    def target_of(self, member_id: str) -> Target:
        """The part of the target assignment that is for one member."""
        return self.targets.get(member_id, NO_TARGET)

    def preferred_assignor(self) -> str | None:
        """The assignor that most members ask for, None when none asks for any.

        Among equals the last by name, so that it is `uniform` as in Kafka.

        Rule: G-96.
        """
        counts = self._assignor_counts
        return max(counts, key=lambda name: (counts[name], name)) if counts else None

    def put_member(self, member: ConsumerMember) -> None:
        """Set a member: a new one, or another value of a known one."""
        old = self.members.get(member.member_id)
        if old is not None:
            self._forget_subscription(old)
            self._release(old)
            self._forget_instance(old)
        self.members[member.member_id] = member
        self.held.add(size_of_subscription(member))
        self._count(self._name_counts, member.topic_names, 1)
        if member.regex:
            self._regex_counts[member.regex] += 1
        if member.server_assignor is not None:
            self._assignor_counts[member.server_assignor] += 1
        if member.classic is not None:
            self._classic_count += 1
            self._count(self._protocol_counts, member.classic.protocol_names, 1)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        self._own(member.assigned, member.member_id)
        self._own(member.pending_revocation, member.member_id)

    def put_current(self, member: ConsumerMember) -> None:
        """Set a known member whose subscription is as before, only what it holds is not."""
        self._release(self.members[member.member_id])
        self.members[member.member_id] = member
        self._own(member.assigned, member.member_id)
        self._own(member.pending_revocation, member.member_id)

    def remove_member(self, member_id: str) -> None:
        """Take a member out; it may have been none. Its target stays until that is removed."""
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self._forget_subscription(member)
        self._release(member)
        self._forget_instance(member)

    def _forget_instance(self, member: ConsumerMember) -> None:
        instance_id = member.instance_id
        if instance_id is not None and self.static_members.get(instance_id) == member.member_id:
            del self.static_members[instance_id]

    def _forget_subscription(self, member: ConsumerMember) -> None:
        self.held.add(-size_of_subscription(member))
        self._count(self._name_counts, member.topic_names, -1)
        if member.regex:
            self._count(self._regex_counts, (member.regex,), -1)
        if member.server_assignor is not None:
            self._count(self._assignor_counts, (member.server_assignor,), -1)
        if member.classic is not None:
            self._classic_count -= 1
            self._count(self._protocol_counts, member.classic.protocol_names, -1)

    @staticmethod
    def _count(counts: Counter[str], names: tuple[str, ...], change: int) -> None:
        for name in names:
            counts[name] += change
            if not counts[name]:
                del counts[name]

    def _own(self, assigned: Assigned, member_id: str) -> None:
        for topic_id, partitions in assigned.items():
            owners = self._owners.setdefault(topic_id, {})
            for partition in partitions:
                owners[partition] = member_id

    def _release(self, member: ConsumerMember) -> None:
        for assigned in (member.assigned, member.pending_revocation):
            for topic_id, partitions in assigned.items():
                owners = self._owners.get(topic_id, {})
                for partition in partitions:
                    # in a log that was cleaned, the next owner may come before this one lets go
                    if owners.get(partition) == member.member_id:
                        del owners[partition]
                if not owners:
                    self._owners.pop(topic_id, None)
