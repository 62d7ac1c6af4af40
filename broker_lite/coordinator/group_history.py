"""When and why groups have rebalanced: the newest steps of all groups together, for people."""

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

KEPT_MAX: Final = 500
NAME_CHARACTERS_MAX: Final = 80
_GROUP_CHARACTERS_MAX: Final = 1000


class Note(NamedTuple):
    """One step of a group.

    Attributes:
        group_id: of the group.
        epoch: of the group after it; the generation of a classic group.
        what: what happened, and why.
    """

    group_id: str
    epoch: int
    what: str


class GroupHistory:
    """The newest steps of all groups. Their number is bounded, so no group has a part of its own.

    A group id that is very long is not kept, because such ids would take much memory.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._kept: deque[tuple[int, Note]] = deque(maxlen=KEPT_MAX)

    def add(self, at_ms: int, notes: Iterable[Note]) -> None:
        """Keep steps that were taken at a time, in ms since 1970."""
        self._kept.extend(
            (at_ms, note) for note in notes if len(note.group_id) <= _GROUP_CHARACTERS_MAX
        )

    def of(self, group_id: str) -> list[tuple[int, Note]]:
        """Return the steps of a group with their times, the newest last."""
        return [each for each in self._kept if each[1].group_id == group_id]


def shown(name: str) -> str:
    """Return the id of a member as a note tells it: the client chose a part of it."""
    return name if len(name) <= NAME_CHARACTERS_MAX else f"{name[:NAME_CHARACTERS_MAX]}..."
