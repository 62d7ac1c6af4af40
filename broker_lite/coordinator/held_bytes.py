"""How much memory the members of all groups take by what they tell.

A member's names, its metadata, its subscription and its assignment stay until it leaves or its
session ends; so does an id that a member was given to join with, until it does.
Kafka bounds the members of a group, not their bytes: it has a heap of its own. A difference: above
`broker.lite.groups.max.bytes` for all groups, who comes with more is refused as if its group were
full.
"""

from collections.abc import Iterable
from typing import Final

MEMBER_BYTES: Final = 1500
"""Of a member without any text, with its timers: measured in a group of 600."""
_TOLD_BYTES: Final = 600
"""Kept free for what a member will tell that was given an id; most tell less."""
_CHARACTER_BYTES_MAX: Final = 4


class HeldBytes:
    """A count of bytes: of one group, and with `whole` of all of them."""

    __slots__ = ("_whole", "count")

    def __init__(self, whole: "HeldBytes | None" = None) -> None:
        """Begin with none.

        Args:
            whole: counts what all groups hold.
        """
        self.count = 0
        self._whole = whole

    def add(self, size_bytes: int) -> None:
        """Count more, or with a negative number less."""
        self.count += size_bytes
        if self._whole is not None:
            self._whole.count += size_bytes

    def join(self, whole: "HeldBytes | None") -> None:
        """Be counted with all groups from now on; None is with none."""
        if self._whole is not None:
            self._whole.count -= self.count
        if whole is not None:
            whole.count += self.count
        self._whole = whole

    def allows(self, size_bytes: int, size_max: int) -> bool:
        """Whether all groups together may hold so much more."""
        held_bytes = self.count if self._whole is None else self._whole.count
        return size_bytes <= 0 or held_bytes + size_bytes <= size_max


def size_of_text(text: str | None) -> int:
    """What a text takes: one character beyond ASCII makes each of them take up to four bytes."""
    if text is None:
        return 0
    return len(text) * (1 if text.isascii() else _CHARACTER_BYTES_MAX)


def size_of_new(member_id: str, instance_id: str | None, client_id: str) -> int:
    """What a member takes before it has told anything but its names."""
    return MEMBER_BYTES + sum(map(size_of_text, (member_id, instance_id, client_id)))


def size_of_promise(member_id: str) -> int:
    """What is kept for a member that was given an id; without it, it could not come any more."""
    return size_of_new(member_id, None, "") + _TOLD_BYTES


def size_of_protocols(protocols: Iterable[tuple[str, bytes]]) -> int:
    """What a member's protocols take."""
    return sum(size_of_text(name) + len(metadata) for name, metadata in protocols)
