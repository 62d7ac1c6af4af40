"""The committed offsets of all groups, and pending offsets, which wait for a transaction's end.

The state is the result of the log's records, applied in order: each method applies one kind of
record. Every offset keeps the position of its record in that order, because the end of a
transaction must not overwrite an offset that was committed after the transaction's own. Kafka's
OffsetMetadataManager does the same: after a compaction the older record may be gone, and the
result must be the same as before.
"""

from collections.abc import Collection, Iterator
from typing import Final

from broker_lite.coordinator.offset_records import CommittedOffset

# a commit's position in the order of all commits, and the commit
Stored = tuple[int, CommittedOffset]
TopicPartition = tuple[str, int]

_NOTHING: Final[dict[int, Stored]] = {}


class GroupOffsets:
    """The offsets of one group.

    Attributes:
        committed: by topic, then by partition; no topic without a partition.
        pending: by producer id, then by topic and partition; no producer without an offset.
    """

    __slots__ = ("committed", "pending")

    def __init__(self) -> None:
        self.committed: dict[str, dict[int, Stored]] = {}
        self.pending: dict[int, dict[TopicPartition, Stored]] = {}

    def copy(self) -> "GroupOffsets":
        """Return the same offsets in an object that later commits do not change."""
        copied = GroupOffsets()
        copied.committed = {topic: dict(one) for topic, one in self.committed.items()}
        copied.pending = {producer: dict(one) for producer, one in self.pending.items()}
        return copied

    def __contains__(self, key: TopicPartition) -> bool:
        topic, partition = key
        return partition in self.committed.get(topic, _NOTHING) or any(
            key in offsets for offsets in self.pending.values()
        )

    def get(self, topic: str, partition: int) -> CommittedOffset | None:
        """Return the committed offset of a partition, or None if there is none."""
        stored = self.committed.get(topic, _NOTHING).get(partition)
        return None if stored is None else stored[1]

    def unstable(self) -> set[TopicPartition]:
        """Return the partitions with a pending offset, whose transaction has not ended yet.

        See: G-70.
        """
        return {key for offsets in self.pending.values() for key in offsets}

    def of_topic(self, topic: str) -> Iterator[tuple[int, CommittedOffset]]:
        """Iterate over a topic's partitions and their committed offsets."""
        for partition, stored in self.committed.get(topic, _NOTHING).items():
            yield partition, stored[1]

    def topics(self) -> set[str]:
        """Return every topic that has an offset, committed or pending."""
        return {*self.committed, *(topic for one in self.pending.values() for topic, _ in one)}

    def partitions(self, topics: Collection[str] | None = None) -> list[TopicPartition]:
        """Return every partition that has an offset, committed or pending, each once.

        Args:
            topics: the topics to look at, None for all.
        """
        found = dict.fromkeys(
            (topic, partition)
            for topic in (self.committed if topics is None else topics)
            for partition in self.committed.get(topic, ())
        )
        for offsets in self.pending.values():
            found.update(
                dict.fromkeys(key for key in offsets if topics is None or key[0] in topics)
            )
        return list(found)


class OffsetStore:
    """The offsets of all groups, by group id."""

    def __init__(self) -> None:
        self._groups: dict[str, GroupOffsets] = {}
        # groups with pending offsets, by partition of the state topic and producer id
        self._open: dict[tuple[int, int], set[str]] = {}
        self._order = 0

    def __len__(self) -> int:
        return len(self._groups)

    def of(self, group_id: str) -> GroupOffsets | None:
        """Return the offsets of a group, or None if it has none."""
        return self._groups.get(group_id)

    def group_ids(self) -> list[str]:
        """Return the ids of the groups that have offsets."""
        return list(self._groups)

    def put(self, group_id: str, topic: str, partition: int, committed: CommittedOffset) -> None:
        """Store a commit; it replaces an earlier one of the same partition (G-72)."""
        self._order += 1
        offsets = self._groups.get(group_id)
        if offsets is None:
            offsets = self._groups[group_id] = GroupOffsets()
        partitions = offsets.committed.get(topic)
        if partitions is None:
            partitions = offsets.committed[topic] = {}
        partitions[partition] = (self._order, committed)

    def put_pending(
        self,
        state_partition: int,
        producer_id: int,
        group_id: str,
        key: TopicPartition,
        committed: CommittedOffset,
    ) -> None:
        """Store a pending commit, which becomes valid when its transaction is committed.

        Args:
            state_partition: of the state topic, where the transaction's end marker will be.
            producer_id: of the transaction.
            group_id: the group that commits.
            key: topic and partition; the last commit of a transaction counts.
            committed: the offset.

        Rule: T-43.
        """
        self._order += 1
        offsets = self._groups.get(group_id)
        if offsets is None:
            offsets = self._groups[group_id] = GroupOffsets()
        offsets.pending.setdefault(producer_id, {})[key] = (self._order, committed)
        self._open.setdefault((state_partition, producer_id), set()).add(group_id)

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        """Remove the offset of a partition and its pending offsets (T-45)."""
        offsets = self._groups.get(group_id)
        if offsets is None:
            return
        partitions = offsets.committed.get(topic)
        if partitions is not None:
            partitions.pop(partition, None)
            if not partitions:
                del offsets.committed[topic]
        if offsets.pending:
            _remove_pending(offsets, (topic, partition))
        self._drop_if_empty(group_id, offsets)

    def complete(self, state_partition: int, producer_id: int, *, committed: bool) -> None:
        """End a transaction: its pending offsets become committed ones, or are dropped.

        Rule: T-53, G-72 (OffsetMetadataManager.replayEndTransactionMarker).
        """
        for group_id in self._open.pop((state_partition, producer_id), ()):
            offsets = self._groups.get(group_id)
            pending = None if offsets is None else offsets.pending.pop(producer_id, None)
            if offsets is None or pending is None:
                # the group, or its pending offsets, were deleted meanwhile
                continue
            if committed:
                _take_over(offsets, pending)
            self._drop_if_empty(group_id, offsets)

    def forget(self, state_partitions: Collection[int], group_ids: set[str]) -> None:
        """Drop the offsets of the groups of partitions of the state topic."""
        for group_id in group_ids:
            self._groups.pop(group_id, None)
        for key in [key for key in self._open if key[0] in state_partitions]:
            del self._open[key]

    def forget_all(self) -> None:
        """Drop all offsets."""
        self._groups.clear()
        self._open.clear()

    def _drop_if_empty(self, group_id: str, offsets: GroupOffsets) -> None:
        if not offsets.committed and not offsets.pending:
            del self._groups[group_id]


def _remove_pending(offsets: GroupOffsets, key: TopicPartition) -> None:
    for producer_id, pending in list(offsets.pending.items()):
        pending.pop(key, None)
        if not pending:
            del offsets.pending[producer_id]


def _take_over(offsets: GroupOffsets, pending: dict[TopicPartition, Stored]) -> None:
    """Make pending offsets committed ones, except where a later commit replaced them."""
    for (topic, partition), stored in pending.items():
        partitions = offsets.committed.setdefault(topic, {})
        present = partitions.get(partition)
        if present is None or present[0] < stored[0]:
            partitions[partition] = stored
