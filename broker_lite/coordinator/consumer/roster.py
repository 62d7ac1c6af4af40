"""Who is in a consumer group: its members, what they subscribe to, and which partitions they have.

What can be derived from the members (who owns a partition, how many subscribe to a name) is kept up
to date here member by member, so that a heartbeat never has to look at all of them.
"""

from collections import Counter
from collections.abc import Iterable

from broker_lite.coordinator.consumer.member import (
    Assigned,
    ConsumerMember,
    size_of_subscription,
)
from broker_lite.coordinator.held_bytes import HeldBytes


class ConsumerRoster:
    """The members of one group.

    Attributes:
        members: by member id.
        static_members: member ids by instance id.
        classic_count: how many members use the classic protocol.
        held: what the members take in memory. Not in the log.
    """

    __slots__ = (
        "_assignor_counts",
        "_name_counts",
        "_owners",
        "_protocol_counts",
        "_regex_counts",
        "classic_count",
        "held",
        "members",
        "static_members",
    )

    def __init__(self) -> None:
        self.members: dict[str, ConsumerMember] = {}
        self.static_members: dict[str, str] = {}
        self.classic_count = 0
        self.held = HeldBytes()
        self._owners: dict[bytes, dict[int, str]] = {}
        self._name_counts: Counter[str] = Counter()
        self._regex_counts: Counter[str] = Counter()
        self._assignor_counts: Counter[str] = Counter()
        self._protocol_counts: Counter[str] = Counter()

    @property
    def topic_names(self) -> Iterable[str]:
        """The topics that members subscribe to by name, each once."""
        return self._name_counts.keys()

    def classic_members_know_one_of(self, names: Iterable[str]) -> bool:
        """Whether all members of the classic protocol know one of these assignors.

        See: G-108 (ConsumerGroup.supportsClassicProtocols).
        """
        return any(self._protocol_counts[name] == self.classic_count for name in names)

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

    def preferred_assignor(self) -> str | None:
        """The assignor that most members ask for, None when none asks for any.

        Among equals the last by name, so that it is `uniform` as in Kafka.

        Rule: G-96.
        """
        counts = self._assignor_counts
        return max(counts, key=lambda name: (counts[name], name)) if counts else None

    def put(self, member: ConsumerMember) -> None:
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
            self.classic_count += 1
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

    def remove(self, member_id: str) -> None:
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
            self.classic_count -= 1
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
