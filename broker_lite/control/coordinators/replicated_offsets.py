"""The committed offsets of groups as far as they are replicated, for OffsetFetch.

The coordinator's state is the newest one. While a replica of a group's partition is behind, the
offsets from before the first event that is not replicated are kept beside it.

Not done: offsets that a transaction's marker commits, and those that expire, are seen at once. If
only some events of a group are replicated, its newest offsets are seen.
"""

from collections.abc import Container

from broker_lite.control.coordinators.state_topic import StateTopic
from broker_lite.coordinator.committed_offsets import GroupOffsets


class ReplicatedOffsets:
    """The offsets of groups with events that are not replicated; used by the event loop's thread.

    See: C-72 (OffsetMetadataManager.fetchOffsets, SnapshotRegistry).
    """

    def __init__(self, topic: StateTopic) -> None:
        self._topic = topic
        # by group id: its partition, where that ended before the event, and the offsets
        self._kept: dict[str, tuple[int, int, GroupOffsets]] = {}

    def keep(self, group_id: str, offsets: GroupOffsets | None) -> None:
        """Keep the offsets of a group before an event, unless older ones are kept.

        Args:
            group_id: whose.
            offsets: its offsets; None if it has none.
        """
        partition = self._topic.partition_of(group_id)
        log = self._topic.loaded_log(partition)
        if log is None or log.visibility.replicas is None or self.of(group_id) is not None:
            return
        copied = GroupOffsets() if offsets is None else offsets.copy()
        self._kept[group_id] = partition, log.log_end_offset, copied

    def of(self, group_id: str) -> GroupOffsets | None:
        """Return the offsets of a group up to the high watermark; None if they are the newest."""
        kept = self._kept.get(group_id)
        if kept is None:
            return None
        partition, end_offset, offsets = kept
        log = self._topic.loaded_log(partition)
        if log is not None and log.high_watermark <= end_offset < log.log_end_offset:
            return offsets
        del self._kept[group_id]
        return None

    def forget(self, partitions: Container[int]) -> None:
        """Forget the groups of partitions that another broker coordinates by now."""
        self._kept = {
            group_id: kept for group_id, kept in self._kept.items() if kept[0] not in partitions
        }

    def forget_all(self) -> None:
        """Forget all groups: no replica is behind any more, or the topic was deleted."""
        self._kept.clear()
