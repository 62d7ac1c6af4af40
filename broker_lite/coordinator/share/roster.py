"""The members of a share group, and how many of them subscribe to each topic."""

from collections import Counter
from collections.abc import Iterable

from broker_lite.coordinator.held_bytes import HeldBytes
from broker_lite.coordinator.share.member import ShareMember, size_of_member


class ShareRoster:
    """The members of one group.

    Attributes:
        members: by member id, in the order in which they joined; changed by put() and remove().
        held: how much memory the members take. Not in the log.
    """

    __slots__ = ("_subscribers", "held", "members")

    def __init__(self) -> None:
        self.members: dict[str, ShareMember] = {}
        self.held = HeldBytes()
        self._subscribers: Counter[str] = Counter()

    @property
    def topic_names(self) -> Iterable[str]:
        """The topics that members subscribe to, each once."""
        return self._subscribers.keys()

    def put(self, member: ShareMember) -> None:
        """Store a member, whether it is new or changed."""
        self._forget(self.members.get(member.member_id))
        self.members[member.member_id] = member
        self._subscribers.update(member.topic_names)
        self.held.add(size_of_member(member))

    def remove(self, member_id: str) -> None:
        """Remove a member if it exists; the group still has its target."""
        self._forget(self.members.pop(member_id, None))

    def _forget(self, member: ShareMember | None) -> None:
        if member is None:
            return
        self.held.add(-size_of_member(member))
        for name in member.topic_names:
            self._subscribers[name] -= 1
            if not self._subscribers[name]:
                del self._subscribers[name]
