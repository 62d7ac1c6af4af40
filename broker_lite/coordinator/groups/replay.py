"""Groups and offsets read back from `__consumer_offsets`.

A log may be read from any state that compaction left. Records of share and streams groups, which
are not offered, are passed over; so are groups that belong into another partition since the state
topic has grown: what was committed there since then counts, and nothing that is older.

See: G-66, G-112, G-117, T-53 (GroupCoordinatorShard.replay).
"""

from collections.abc import Iterable
from struct import Struct
from struct import error as StructError
from typing import Final

from broker_lite.coordinator.classic import phases as classic_phases
from broker_lite.coordinator.classic import records as classic_records
from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.consumer import records as consumer_records
from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.consumer.replay import apply_record
from broker_lite.coordinator.effects import Effects, Reply
from broker_lite.coordinator.offset_records import (
    LEGACY_OFFSET_COMMIT,
    OFFSET_COMMIT,
    decode_offset_key,
    decode_offset_value,
)
from broker_lite.coordinator.offsets.removal import OffsetRemovals
from broker_lite.coordinator.registry import Group, GroupEffects, GroupRegistry
from broker_lite.errors import ErrorCode
from broker_lite.wire import DecodeError, messages

_INT16: Final = Struct(">h")

# of a batch that is no transaction's
_NO_PRODUCER_ID: Final = -1

_OFFSETS: Final = frozenset((LEGACY_OFFSET_COMMIT, OFFSET_COMMIT))


class GroupReplay:
    """Takes over what the log says."""

    def __init__(self, registry: GroupRegistry, removals: OffsetRemovals) -> None:
        self._registry = registry
        self._removals = removals
        # group ids of the partitions that are being read, and whether they belong there
        self._met: dict[int, dict[str, bool]] = {}

    def batch(
        self, partition: int, producer_id: int, records: Iterable[tuple[bytes, bytes | None]]
    ) -> None:
        """Take over the records of a batch.

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
            self._consumer(partition, record_type, key, value)

    def loaded(self, partition: int, now_ms: int) -> GroupEffects:
        """Start the timers of the groups of a partition, and see what is out of date there."""
        started: GroupEffects = []
        groups = self._registry.groups
        met = self._met.pop(partition, {})
        for group in [groups[group_id] for group_id in met if group_id in groups]:
            effects = Effects()
            if isinstance(group, ConsumerGroup):
                group.loaded(now_ms)
            else:
                classic_phases.loaded(group, effects, now_ms)
            if effects.records or effects.replies:
                started.append((group.group_id, effects))
            started += self._removals.delete_missing_topics(group.group_id)
        return started

    def unload(self, partition: int) -> list[Reply]:
        """Forget the groups of a partition.

        Returns:
            Answers to the open requests of their members: 16, so that clients ask again.
        """
        self._met.pop(partition, None)
        groups = self._registry.groups_in(partition)
        replies = self._take_out(groups)
        self._registry.offsets.forget(partition, {group.group_id for group in groups})
        return replies

    def unload_all(self) -> list[Reply]:
        """Forget all groups, wherever they are.

        Returns:
            As of unload.
        """
        replies = self._take_out(list(self._registry.groups.values()))
        self._registry.offsets.forget_all()
        return replies

    def _take_out(self, groups: Iterable[Group]) -> list[Reply]:
        effects = Effects()
        for group in groups:
            if isinstance(group, ConsumerGroup):
                group.unload()
            else:
                group.dismiss(ErrorCode.NOT_COORDINATOR, effects)
            self._registry.remove(group.group_id)
        return effects.replies

    def _offset(self, partition: int, producer_id: int, key: bytes, value: bytes | None) -> None:
        """Take over a commit, or that an offset is gone.

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

    def _consumer(self, partition: int, record_type: int, key: bytes, value: bytes | None) -> None:
        """Take over a record of a consumer group.

        A classic group of that id was made by its offsets only, or has become this group.
        """
        registry = self._registry
        group_id = consumer_records.group_of(key)
        if not self._belongs(group_id, partition):
            return
        group = registry.consumer(group_id)
        if group is None:
            if value is None:
                return
            group = registry.make_consumer(group_id)
        apply_record(group, record_type, key, value)
        if value is None and record_type == consumer_records.GROUP_EPOCH:
            registry.remove(group_id)

    def _belongs(self, group_id: str, partition: int) -> bool:
        """Whether a group is to be found in this partition.

        See: G-07.
        """
        met = self._met.get(partition)
        if met is None:
            met = self._met[partition] = {}
        belongs = met.get(group_id)
        if belongs is None:
            belongs = met[group_id] = self._registry.partition_of(group_id) == partition
        return belongs
