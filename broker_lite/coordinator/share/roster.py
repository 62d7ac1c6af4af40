"""The members of a share group, and how many of them subscribe to each topic."""

from collections import Counter

from broker_lite.coordinator.held_bytes import HeldBytes
from broker_lite.coordinator.share.member import ShareMember, size_of_member


class ShareRoster:
    """The members of one group.

    Attributes:
        members: by member id, in the order in which they joined; changed by put() and remove().
        held: how much memory the members take. Not in the log.
        subscribers: how many members subscribe to each topic that any of them subscribes to.
    """

    __slots__ = ("held", "members", "subscribers")

    def __init__(self) -> None:
        self.members: dict[str, ShareMember] = {}
        self.held = HeldBytes()
        self.subscribers: Counter[str] = Counter()

    def put(self, member: ShareMember) -> None:
        """Store a member, whether it is new or changed."""
        self._forget(self.members.get(member.member_id))
        self.members[member.member_id] = member
        self.subscribers.update(member.topic_names)
        self.held.add(size_of_member(member))

    def remove(self, member_id: str) -> None:
        """Remove a member if it exists; the group still has its target."""
        self._forget(self.members.pop(member_id, None))

    def _forget(self, member: ShareMember | None) -> None:
        if member is None:
            return
        self.held.add(-size_of_member(member))
        for name in member.topic_names:
            self.subscribers[name] -= 1
            if not self.subscribers[name]:
                del self.subscribers[name]
