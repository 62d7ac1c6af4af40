"""When the committed offsets of each partition of the state topic are searched for expired ones.

The partitions that are loaded at the start share one time. A partition that is loaded later has a
time of its own, because Kafka's timer starts when a partition is loaded.
"""

from collections.abc import Callable


def everything(_: str) -> bool:
    """Return that a group is due, whichever it is."""
    return True


class ExpiryTimes:
    """The next search of each partition, in steady milliseconds.

    Rule: C-66 (GroupCoordinatorShard.scheduleGroupMetadataExpiration).
    """

    __slots__ = ("_common_ms", "_own_ms", "_partition_of")

    def __init__(self, partition_of: Callable[[str], int]) -> None:
        """Start without times.

        Args:
            partition_of: returns the partition of the state topic that a group belongs to.
        """
        self._partition_of = partition_of
        self._common_ms = 0
        self._own_ms: dict[int, int] = {}

    @property
    def next_ms(self) -> int:
        """The time of the earliest search."""
        return min(self._common_ms, *self._own_ms.values()) if self._own_ms else self._common_ms

    def start(self, first_ms: int) -> None:
        """Set the time of all partitions."""
        self._common_ms = first_ms

    def loaded(self, partition: int, first_ms: int) -> None:
        """Give a partition that was loaded now a time of its own."""
        self._own_ms[partition] = first_ms

    def unloaded(self, partition: int) -> None:
        """Forget the time of a partition, whose offsets are no longer in memory."""
        self._own_ms.pop(partition, None)

    def take_due(self, now_ms: int, interval_ms: int) -> Callable[[str], bool] | None:
        """Return which groups are due, and set the time of the next search of their partitions.

        Returns:
            A function that tells whether a group is due; None if no partition is.
        """
        if now_ms < self.next_ms:
            return None
        own = {partition for partition, time_ms in self._own_ms.items() if now_ms >= time_ms}
        self._own_ms.update(dict.fromkeys(own, now_ms + interval_ms))
        partition_of = self._partition_of
        if now_ms < self._common_ms:
            return lambda group_id: partition_of(group_id) in own
        self._common_ms = now_ms + interval_ms
        if not self._own_ms:
            return everything
        later = self._own_ms.keys() - own
        return lambda group_id: partition_of(group_id) not in later
