"""Ends what members have of share partitions when their share sessions end, by and by.

Each end is written, and a session may have very many share partitions. Who wants to use one of them
has it done at once, so that nobody notices.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import Final

from broker_lite.control.coordinators.background import Background
from broker_lite.coordinator.share_records.sessions import SharedPartition
from broker_lite.coordinator.share_records.states import ShareKey

_AT_ONCE: Final = 32
"""So many share partitions are released before the request that ends a session is answered."""


def keys_among(
    held: Collection[ShareKey], group_id: str, partitions: Collection[SharedPartition]
) -> list[ShareKey]:
    """Return which of the share partitions that are held belong to the session of a member.

    Args:
        held: the share partitions of all groups, found by key.
        group_id: of the member.
        partitions: of its session, found by key; most of them may not exist.
    """
    if len(held) < len(partitions):
        return [key for key in held if key.group_id == group_id and key[1:] in partitions]
    named = (ShareKey(group_id, *each) for each in partitions)
    return [key for key in named if key in held]


class ShareReleases:
    """The share partitions that still have to be released; used by one thread."""

    def __init__(
        self, background: Background, release: Callable[[ShareKey, str | None], object]
    ) -> None:
        """Begin without any.

        Args:
            background: runs what does not have to be done at once.
            release: ends the locks of a member of a share partition; without a member, it forgets
                what is in flight.
        """
        self._background = background
        self._release = release
        self._waiting: dict[ShareKey, list[str | None]] = {}
        self._has_job = False

    def add(self, keys: Iterable[ShareKey], member_id: str | None) -> None:
        """Release share partitions, after what had to be done of them before.

        Args:
            keys: of them.
            member_id: whose locks end; None to forget what is in flight.
        """
        for key in keys:
            self._waiting.setdefault(key, []).append(member_id)
        if self._waiting and not self._has_job:
            self._has_job = True
            steps = self._rest()
            for _ in islice(steps, _AT_ONCE):
                pass
            if self._waiting:
                self._background.add(steps)
            else:
                self._has_job = False

    def catch_up(self, key: ShareKey) -> None:
        """Do what still has to be done of a share partition."""
        for member_id in self._waiting.pop(key, ()):
            self._release(key, member_id)

    def _rest(self) -> Iterator[None]:
        while self._waiting:
            self.catch_up(next(iter(self._waiting)))
            yield
        self._has_job = False
