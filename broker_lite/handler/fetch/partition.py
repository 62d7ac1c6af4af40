"""The partitions of one Fetch request or session: what is wanted of each, and which have news.

Only partitions that may have news are looked at. A partition without news is watched: its log calls
it at the next change, and then it is pending again. So an incremental fetch of a session with
10,000 partitions costs only as much as the changed ones, and a long poll waits for the first call.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Final, TypeAlias

from broker_lite.wire.fetch_request import WantedPartition

if TYPE_CHECKING:
    from broker_lite.log.log import Log

PartitionKey: TypeAlias = tuple[str | bytes, int]
"""Topic name (up to v12) or topic id (v13 and later) and partition index."""

PARTITION_BYTES: Final = 600
"""The memory that one partition takes without its topic's name: measured, with its numbers."""

_CHARACTER_BYTES_MAX: Final = 4
_BY_ORDER: Final = attrgetter("order")


class FetchPartition:
    """One partition that is fetched from. It is mutable, and its log calls it at a change.

    `high_watermark` and `log_start_offset` are those of the last answer, -1 before the first.
    `segment_base` names the segment in which the fetch offset lay when waiting began.

    Rule: F-44 (CachedPartition).
    See: F-43.
    """

    __slots__ = (
        "_log",
        "_owner",
        "current_leader_epoch",
        "fetch_offset",
        "high_watermark",
        "index",
        "last_fetched_epoch",
        "log_start_offset",
        "max_bytes",
        "order",
        "segment_base",
        "topic",
    )

    def __init__(
        self,
        owner: "FetchPartitions",
        topic: str | bytes,
        order: int,
        wanted: WantedPartition,
    ) -> None:
        """Take over the fields of a request."""
        self._owner = owner
        self._log: Log | None = None
        self.topic = topic
        self.index = wanted.index
        self.order = order
        self.high_watermark = -1
        self.log_start_offset = -1
        self.segment_base = -1
        self.update(wanted)

    def update(self, wanted: WantedPartition) -> None:
        """Take over the fetch offset, limit and epochs of a later request.

        See: F-43 (CachedPartition.updateRequestParams).
        """
        self.fetch_offset = wanted.fetch_offset
        self.max_bytes = wanted.max_bytes
        self.current_leader_epoch = wanted.current_leader_epoch
        self.last_fetched_epoch = wanted.last_fetched_epoch

    @property
    def key(self) -> PartitionKey:
        """The key of the partition within its request or session."""
        return self.topic, self.index

    def begin_watching(self, log: "Log") -> None:
        """Watch a log that was just looked at, and remember the segment of the fetch offset."""
        self.segment_base = log.segments.holding(self.fetch_offset).base_offset
        self.watch(log)

    def watch(self, log: "Log") -> None:
        """Have the log call this partition at its next change."""
        if self._log is not log:
            self.unwatch()
            self._log = log
            log.visibility.add_waiter(self)

    def unwatch(self) -> None:
        """Stop being called by the log."""
        if self._log is not None:
            self._log.visibility.remove_waiter(self)
            self._log = None

    def __call__(self) -> None:
        """Note that the log has changed; one call is enough until the next look at it."""
        self.unwatch()
        self._owner.note_change(self)


class FetchPartitions:
    """An ordered set of partitions, which knows the pending ones: those to look at.

    A partition that is not pending is watched: it had no news when it was last looked at, and it
    has not changed since. `listeners` are called at each change while a request waits. `users` is
    the number of requests that use the set; it begins at 1 for the request that makes the set.
    `size_bytes` is the most memory that the whole set may take.

    See: F-03, F-43, F-45.
    """

    __slots__ = ("_by_key", "_next_order", "_pending", "listeners", "size_bytes", "users")

    def __init__(self) -> None:
        self._by_key: dict[PartitionKey, FetchPartition] = {}
        self._pending: set[FetchPartition] = set()
        self._next_order = 0
        self.listeners: list[Callable[[], None]] = []
        self.users = 1
        self.size_bytes = 0

    def __len__(self) -> int:
        return len(self._by_key)

    def keys(self) -> list[PartitionKey]:
        """Return the keys of all partitions."""
        return list(self._by_key)

    def tell_again(self, topic: str | bytes, index: int) -> None:
        """Answer for a partition next time even if it has not changed, if it is there."""
        partition = self._by_key.get((topic, index))
        if partition is not None:
            partition.high_watermark = -1
            self._pending.add(partition)

    def want(self, topic: str | bytes, wanted: WantedPartition) -> None:
        """Add a partition at the end, or change the fields of one that is there, in its place."""
        key = (topic, wanted.index)
        partition = self._by_key.get(key)
        if partition is None:
            partition = FetchPartition(self, topic, self._next_order, wanted)
            self._next_order += 1
            self._by_key[key] = partition
            self.size_bytes += PARTITION_BYTES + _text_bytes(topic)
        else:
            partition.update(wanted)
        self._pending.add(partition)

    def forget(self, topic: str | bytes, index: int) -> None:
        """Remove a partition; it is no error if it is not there."""
        partition = self._by_key.pop((topic, index), None)
        if partition is not None:
            partition.unwatch()
            self._pending.discard(partition)
            self.size_bytes -= PARTITION_BYTES + _text_bytes(topic)

    def pending(self) -> list[FetchPartition]:
        """Return the partitions to look at, in order."""
        if len(self._pending) == len(self._by_key):  # sorting a nearly sorted list is cheap
            return sorted(self._by_key.values(), key=_BY_ORDER)
        # A set never shrinks by itself, and iterating over it costs as much as at its largest size.
        pending = self._pending = set(self._pending)
        return sorted(pending, key=_BY_ORDER) if len(pending) > 1 else list(pending)

    def in_any_order(self) -> list[FetchPartition]:
        """Return the partitions to look at, unsorted: sorting 100,000 takes as long as the look."""
        return list(self._pending)

    def all_pending(self) -> None:
        """Look at every partition next time."""
        self._pending.update(self._by_key.values())

    def note_change(self, partition: FetchPartition) -> None:
        """Look at a partition next time, and call the listeners of waiting requests."""
        self._pending.add(partition)
        for listener in self.listeners:
            listener()

    def settle(self, partition: FetchPartition, log: "Log") -> None:
        """Look at a partition again only after the next change of its log."""
        partition.begin_watching(log)
        self._pending.discard(partition)

    def move_to_end(self, partition: FetchPartition) -> None:
        """Put a partition that has got records behind those that have not."""
        partition.order = self._next_order
        self._next_order += 1

    def unwatch(self) -> None:
        """Stop watching all logs, for good, and drop the partitions once no request uses them.

        Each partition refers to this set, and the set to the partitions. Otherwise the garbage
        collector would have to find very many such cycles, and nothing else runs for 60 ms then.
        """
        for partition in self._by_key.values():
            if partition._log is not None:
                partition.unwatch()
        if not self.users:
            self._by_key.clear()
            self._pending.clear()


def _text_bytes(topic: str | bytes) -> int:
    """Return the most bytes a name may take: one non-ASCII character can make all take four bytes.

    See: F-47.
    """
    return len(topic) if topic.isascii() else len(topic) * _CHARACTER_BYTES_MAX
