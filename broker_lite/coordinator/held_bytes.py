"""How much memory the members of all groups take by the data that they send.

A member's names, metadata, subscription and assignment stay in memory until it leaves or its
session ends. A member id that was given out stays in memory until a member joins with it. What a
share group has of a partition stays until the group or the topic is deleted.
Kafka limits the number of members of a group, not their bytes: it has a heap of its own. A
difference: above `broker.lite.groups.max.bytes` for all groups, a request that needs more memory is
refused as if its group were full.
"""

from collections.abc import Iterable
from typing import Final

from broker_lite.errors import GroupMaxSizeReached

MEMBER_BYTES: Final = 1500
"""The size of a member without any text, with its timers: measured in a group of 600."""
_TOLD_BYTES: Final = 600
"""Reserved per given-out member id for the data that the member will send; most send less."""
_CHARACTER_BYTES_MAX: Final = 4


class HeldBytes:
    """A count of bytes of one group, which `whole` adds up over all groups."""

    __slots__ = ("_whole", "count")

    def __init__(self, whole: "HeldBytes | None" = None) -> None:
        """Start the count at 0.

        Args:
            whole: the count of all groups together, None if this group is not part of it.
        """
        self.count = 0
        self._whole = whole

    def add(self, size_bytes: int) -> None:
        """Add to the count; a negative number reduces it."""
        self.count += size_bytes
        if self._whole is not None:
            self._whole.count += size_bytes

    def join(self, whole: "HeldBytes | None") -> None:
        """Add this group to the count of all groups; None takes it out of the count."""
        if self._whole is not None:
            self._whole.count -= self.count
        if whole is not None:
            whole.count += self.count
        self._whole = whole

    def room(self, size_max: int) -> int:
        """Return how much more all groups together may hold; at least 0."""
        held_bytes = self.count if self._whole is None else self._whole.count
        return max(size_max - held_bytes, 0)

    def allows(self, size_bytes: int, size_max: int) -> bool:
        """Return whether all groups together may hold `size_bytes` more."""
        return size_bytes <= 0 or size_bytes <= self.room(size_max)

    def demand(self, size_bytes: int, size_max: int) -> None:
        """Demand that all groups together may hold `size_bytes` more.

        Raises:
            GroupMaxSizeReached: they may not.
        """
        if not self.allows(size_bytes, size_max):
            raise GroupMaxSizeReached(
                f"The members of all groups hold {size_max} bytes, which is the maximum."
            )


def size_of_text(text: str | None) -> int:
    """Return the most memory that a text takes.

    Python stores all characters of a text in the same width: one character beyond ASCII makes each
    of them take up to four bytes.
    """
    if text is None:
        return 0
    return len(text) * (1 if text.isascii() else _CHARACTER_BYTES_MAX)


def size_of_new(member_id: str, instance_id: str | None, client_id: str) -> int:
    """Return the memory of a member of which only the names are known."""
    return MEMBER_BYTES + sum(map(size_of_text, (member_id, instance_id, client_id)))


def size_of_promise(member_id: str) -> int:
    """Return the memory reserved for a given-out id; it makes sure that its member can join."""
    return size_of_new(member_id, None, "") + _TOLD_BYTES


def size_of_protocols(protocols: Iterable[tuple[str, bytes]]) -> int:
    """Return the memory of a member's protocols."""
    return sum(size_of_text(name) + len(metadata) for name, metadata in protocols)
