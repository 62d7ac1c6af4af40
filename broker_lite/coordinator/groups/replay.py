"""Loads groups and offsets from `__consumer_offsets`.

Compaction may have removed any of the older records of a log. A group that belongs to another
partition, because the state topic has grown, is skipped: only the records in its new partition
count.

See: G-66, T-53 (GroupCoordinatorShard.replay).
"""

from collections.abc import Callable, Iterable
from struct import Struct
from struct import error as StructError
from typing import Final, Generic, NamedTuple, TypeVar

from broker_lite.coordinator.classic import phases as classic_phases
from broker_lite.coordinator.classic import records as classic_records
from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.consumer import records as consumer_records
from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.consumer.replay import apply_record
from broker_lite.coordinator.effects import Effects, Reply
from broker_lite.coordinator.group_records import CONSUMER, SHARE, STREAMS, group_of
from broker_lite.coordinator.offset_records import (
    LEGACY_OFFSET_COMMIT,
    OFFSET_COMMIT,
    decode_offset_key,
    decode_offset_value,
)
from broker_lite.coordinator.offsets.removal import OffsetRemovals
from broker_lite.coordinator.registry import Group, GroupEffects, GroupRegistry
from broker_lite.coordinator.share import records as share_records
from broker_lite.coordinator.share.group import ShareGroup
from broker_lite.coordinator.share.replay import apply_record as apply_share_record
from broker_lite.coordinator.streams import records as streams_records
from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.coordinator.streams.replay import apply_record as apply_streams_record
from broker_lite.errors import ErrorCode
from broker_lite.wire import DecodeError, messages

_INT16: Final = Struct(">h")

# the producer id of a batch without a transaction
_NO_PRODUCER_ID: Final = -1

_OFFSETS: Final = frozenset((LEGACY_OFFSET_COMMIT, OFFSET_COMMIT))


G = TypeVar("G", bound=Group)


class _Kind(NamedTuple, Generic[G]):
    """How the records of a kind of groups are applied.

    Attributes:
        find: returns the group of this kind with an id, or None.
        make: adds a new group.
        apply: applies a record to its group.
        group_epoch: the type of the group's own record, whose tombstone deletes the group.
    """

    find: Callable[[str], G | None]
    make: Callable[[str], G]
    apply: Callable[[G, int, bytes, bytes | None], None]
    group_epoch: int


class GroupReplay:
    """Applies the records of the log."""

    def __init__(self, registry: GroupRegistry, removals: OffsetRemovals) -> None:
        self._registry = registry
        self._removals = removals
        self._consumers = _Kind(
            registry.consumer,
            registry.make_consumer,
            apply_record,
            CONSUMER.group_epoch,
        )
        self._shares = _Kind(
            registry.share, registry.make_share, apply_share_record, SHARE.group_epoch
        )
        self._streams = _Kind(
            registry.streams,
            registry.make_streams,
            apply_streams_record,
            STREAMS.group_epoch,
        )
        # by partition that is being read: its group ids, and whether each belongs there
        self._met: dict[int, dict[str, bool]] = {}

    def batch(
        self, partition: int, producer_id: int, records: Iterable[tuple[bytes, bytes | None]]
    ) -> None:
        """Apply the records of a batch.

        Raises:
            DecodeError: a record cannot be read.
        """
        for key, value in records:
            if len(key) < _INT16.size:
                raise DecodeError("a key has no type")
            try:
                self._record(partition, producer_id, key, value)
            except (StructError, ValueError) as error:
                raise DecodeError(f"a record of key {key!r:.100} is broken: {error}") from error

    def _record(self, partition: int, producer_id: int, key: bytes, value: bytes | None) -> None:
        record_type = _INT16.unpack_from(key)[0]
        if record_type in _OFFSETS:
            self._offset(partition, producer_id, key, value)
        elif record_type == classic_records.KEY_TYPE:
            self._classic(partition, key, value)
        elif record_type in consumer_records.CONSUMER_RECORD_TYPES:
            self._newer(self._consumers, partition, record_type, key, value)
        elif record_type in share_records.SHARE_RECORD_TYPES:
            self._newer(self._shares, partition, record_type, key, value)
        elif record_type in streams_records.STREAMS_RECORD_TYPES:
            self._newer(self._streams, partition, record_type, key, value)

    def loaded(self, partition: int, now_ms: int) -> GroupEffects:
        """Start the timers of a loaded partition's groups, and drop offsets of missing topics.

        Rule: C-64 (GroupMetadataManager.onLoaded).
        """
        started: GroupEffects = []
        groups = self._registry.groups
        met = self._met.pop(partition, {})
        for group in [groups[group_id] for group_id in met if group_id in groups]:
            effects = Effects()
            if isinstance(group, ConsumerGroup | ShareGroup | StreamsGroup):
                group.loaded(now_ms)
            else:
                classic_phases.loaded(group, effects, now_ms)
            if effects.records or effects.replies:
                started.append((group.group_id, effects))
            started += self._removals.delete_missing_topics(group.group_id)
        return started

    def unload(self, *partitions: int) -> list[Reply]:
        """Forget the groups of partitions, with their timers.

        Returns:
            The responses to the open requests of their members: NOT_COORDINATOR, so that clients
            look for the coordinator and retry.

        See: C-63 (GroupMetadataManager.onUnloaded).
        """
        for partition in partitions:
            self._met.pop(partition, None)
        groups = self._registry.groups_in(*partitions)
        replies = self._remove(groups)
        self._registry.offsets.forget(partitions, {group.group_id for group in groups})
        return replies

    def unload_all(self) -> list[Reply]:
        """Forget all groups of all partitions.

        Returns:
            The responses, as those of `unload`.
        """
        replies = self._remove(list(self._registry.groups.values()))
        self._registry.offsets.forget_all()
        return replies

    def _remove(self, groups: Iterable[Group]) -> list[Reply]:
        effects = Effects()
        for group in groups:
            if isinstance(group, ConsumerGroup | ShareGroup | StreamsGroup):
                group.unload()
            else:
                group.dismiss(ErrorCode.NOT_COORDINATOR, effects)
            self._registry.remove(group.group_id)
        return effects.replies

    def _offset(self, partition: int, producer_id: int, key: bytes, value: bytes | None) -> None:
        """Apply the record of a commit, or the tombstone of an offset.

        See: G-66, T-43 (OffsetMetadataManager.replay).
        """
        registry = self._registry
        group_id, topic, index = decode_offset_key(key)
        if not self._belongs(group_id, partition):
            return
        if value is None:
            registry.offsets.remove(group_id, topic, index)
            return
        committed = decode_offset_value(value)
        if group_id not in registry.groups:
            registry.make_classic(group_id, committed.commit_ms)
        if producer_id == _NO_PRODUCER_ID:
            registry.offsets.put(group_id, topic, index, committed)
        else:
            registry.offsets.put_pending(
                partition, producer_id, group_id, (topic, index), committed
            )

    def _classic(self, partition: int, key: bytes, value: bytes | None) -> None:
        registry = self._registry
        group_id = messages.GroupMetadataKey.decode(key, 0, _INT16.size)[0].group
        if not self._belongs(group_id, partition):
            return
        if value is not None:
            group = ClassicGroup.from_record(
                group_id,
                value,
                registry.timers,
                registry.settings_of(group_id),
                registry.make_uuid,
            )
            registry.add(group)
        elif registry.classic(group_id) is not None:
            registry.remove(group_id)

    def _newer(
        self, kind: "_Kind[G]", partition: int, record_type: int, key: bytes, value: bytes | None
    ) -> None:
        """Apply a record of a group of several types of records.

        If there is a classic group with the id of a consumer group, it was made for offsets only,
        or it was converted into this group. The consumer group replaces it.
        """
        group_id = group_of(key)
        if not self._belongs(group_id, partition):
            return
        group = kind.find(group_id)
        if group is None:
            if value is None:
                return
            group = kind.make(group_id)
        kind.apply(group, record_type, key, value)
        if value is None and record_type == kind.group_epoch:
            self._registry.remove(group_id)

    def _belongs(self, group_id: str, partition: int) -> bool:
        """Return whether a group belongs to this partition.

        See: G-07.
        """
        met = self._met.get(partition)
        if met is None:
            met = self._met[partition] = {}
        belongs = met.get(group_id)
        if belongs is None:
            belongs = met[group_id] = self._registry.partition_of(group_id) == partition
        return belongs
