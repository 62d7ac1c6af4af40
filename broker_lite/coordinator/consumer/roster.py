"""The members of a consumer group, their subscriptions and the owners of partitions.

The data that follows from the members (such as the owner of a partition, or the number of
subscribers of a topic) is updated here with every change of a member. So a heartbeat never has to
look at all members.
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
        held: how much memory the members take. Not in the log.
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
        """Return whether all members of the classic protocol support one of these assignors.

        See: G-108 (ConsumerGroup.supportsClassicProtocols).
        """
        return any(self._protocol_counts[name] == self.classic_count for name in names)

    @property
    def subscribed_regexes(self) -> frozenset[str]:
        """The regular expressions that members subscribe to, whether they were matched or not."""
        return frozenset(self._regex_counts)

    def has_subscribers_by_name(self, names: Iterable[str]) -> bool:
        """Return whether a member subscribes to one of these topics by its name."""
        return any(name in self._name_counts for name in names)

    def subscribers_of_regex(self, regex: str) -> int:
        """Return how many members subscribe to a regular expression."""
        return self._regex_counts[regex]

    def owner_of(self, topic_id: bytes, partition: int) -> str | None:
        """Return the member that has a partition, or that still has to give it back.

        Rule: G-94.
        """
        return self._owners.get(topic_id, {}).get(partition)

    def preferred_assignor(self) -> str | None:
        """Return the assignor that most members ask for, or None if no member asks for one.

        Among those with the same number of members it is the last by name. So it is `uniform`, as
        in Kafka.

        Rule: G-96.
        """
        counts = self._assignor_counts
        return max(counts, key=lambda name: (counts[name], name)) if counts else None

    def put(self, member: ConsumerMember) -> None:
        """Store a member, whether it is new or changed."""
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
        """Store a known member of which only the current assignment, epochs or state changed."""
        self._release(self.members[member.member_id])
        self.members[member.member_id] = member
        self._own(member.assigned, member.member_id)
        self._own(member.pending_revocation, member.member_id)

    def remove(self, member_id: str) -> None:
        """Remove a member if it exists; the group still has its target."""
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
                    # in a compacted log the record of the next owner may come before this one's
                    if owners.get(partition) == member.member_id:
                        del owners[partition]
                if not owners:
                    self._owners.pop(topic_id, None)
