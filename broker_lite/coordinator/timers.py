"""Timers of a coordinator: keys with deadlines.

The time is an argument. Setting a timer again moves it. Its old entry stays in the heap and is
skipped when it comes up, so setting and moving both cost one heap push and one dictionary write.
"""

import heapq
from collections.abc import Hashable, Iterator
from itertools import count
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

TimerKey = tuple[str, str, str]
"""Group id, kind of timer, and member id; the member id is empty for a timer of the whole group."""

SESSION: Final = "session"
JOIN: Final = "join"
SYNC: Final = "sync"
REBALANCE: Final = "rebalance"
INITIAL_DELAY: Final = "initial delay"

_STALE_ENTRIES_MIN: Final = 64


class Timers(Generic[Key]):
    """Deadlines in milliseconds by key; a key has at most one."""

    __slots__ = ("_deadlines", "_heap", "_order")

    def __init__(self) -> None:
        self._deadlines: dict[Key, int] = {}
        self._heap: list[tuple[int, int, Key]] = []
        self._order = count()

    def __len__(self) -> int:
        return len(self._deadlines)

    def __contains__(self, key: Key) -> bool:
        return key in self._deadlines

    def __iter__(self) -> Iterator[Key]:
        return iter(self._deadlines)

    def deadline_ms(self, key: Key) -> int | None:
        """Return the deadline of a key, or None if it has no timer."""
        return self._deadlines.get(key)

    def set(self, key: Key, deadline_ms: int) -> None:
        """Start the timer of a key, or move it if it runs."""
        self._deadlines[key] = deadline_ms
        heapq.heappush(self._heap, (deadline_ms, next(self._order), key))
        if len(self._heap) > 2 * len(self._deadlines) + _STALE_ENTRIES_MIN:
            self._rebuild()

    def cancel(self, key: Key) -> None:
        """Stop the timer of a key, if it runs."""
        self._deadlines.pop(key, None)

    def next_deadline_ms(self) -> int | None:
        """Return the earliest deadline, or None without any timer."""
        heap = self._heap
        while heap and self._deadlines.get(heap[0][2]) != heap[0][0]:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def pop_due(self, now_ms: int) -> Key | None:
        """Remove the due timer with the earliest deadline and return its key, or None without one.

        It returns only one, because handling a timer may cancel the next one.
        """
        deadline_ms = self.next_deadline_ms()
        if deadline_ms is None or deadline_ms > now_ms:
            return None
        key = heapq.heappop(self._heap)[2]
        del self._deadlines[key]
        return key

    def _rebuild(self) -> None:
        self._heap = [
            (deadline_ms, next(self._order), key) for key, deadline_ms in self._deadlines.items()
        ]
        heapq.heapify(self._heap)


class GroupTimers:
    """The timers of one group.

    Attributes:
        all_groups: the timers of all groups, which include this group's.
    """

    __slots__ = ("_group_id", "all_groups")

    def __init__(self, group_id: str, timers: Timers[TimerKey]) -> None:
        self._group_id = group_id
        self.all_groups = timers

    def set(self, kind: str, member_id: str, deadline_ms: int) -> None:
        """Start or move a timer of a member, or with an empty member id one of the whole group."""
        self.all_groups.set((self._group_id, kind, member_id), deadline_ms)

    def cancel(self, kind: str, member_id: str) -> None:
        """Stop a timer, if it runs."""
        self.all_groups.cancel((self._group_id, kind, member_id))

    def is_set(self, kind: str, member_id: str) -> bool:
        """Return whether a timer runs."""
        return (self._group_id, kind, member_id) in self.all_groups
