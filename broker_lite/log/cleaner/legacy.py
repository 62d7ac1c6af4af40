"""Compaction of messages of magic 0 or 1, alone or in a compressed set: they become v2 batches.

Kafka writes only v2 batches since 4.0. So the records that stay become a v2 batch, even if all of
them stay.

A tombstone of magic 0 or 1 has no delete horizon. It is removed when its segment is old enough;
until then it is kept, and the v2 batch that it is written to gets a delete horizon.

A round of compaction has to keep its last batch, empty if need be. There is no empty message of
magic 0 or 1, so such a round fails, here as in Kafka.

See: S-84, R-90, R-92 (Cleaner.cleanInto, MemoryRecords.filterTo).
"""

from collections.abc import Iterable
from typing import NamedTuple

from broker_lite.errors import UnknownServerError
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.legacy.messages import (
    LOG_APPEND_TIME,
    LegacyMessage,
    LegacyRecord,
    iterate_legacy,
)
from broker_lite.record.loops.key_map import KeyMap


class LegacyRound(NamedTuple):
    """Decides which messages of magic 0 or 1 stay in a segment.

    Attributes:
        keys: newest offset of each key.
        latest_offset: records after this offset are not in `keys`, and stay.
        keeps_null: whether tombstones of this segment stay.
        end_offset: the first offset that cannot be cleaned.
        horizon_ms: the delete horizon for batches with tombstones.
    """

    keys: KeyMap
    latest_offset: int
    keeps_null: bool
    end_offset: int
    horizon_ms: int


def compacted_legacy(message: LegacyMessage, given: LegacyRound) -> bytes | None:
    """Return the records that stay of a message or a set as one v2 batch, None if none stays.

    The batch begins at the offset of the first record that stays, and ends at that of the last.

    Raises:
        BrokerError: the records cannot be read; or none stays, but the round ends with this
            message.

    See: R-90 to R-92 (MemoryRecords.buildRetainedRecordsInto).
    """
    kept = [record for record in iterate_legacy(message) if _is_kept(record, given)]
    if not kept:
        if message.next_offset == given.end_offset:
            raise UnknownServerError("Empty batches are only supported for magic v2 and above")
        return None
    has_null = any(record.value is None for record in kept)
    is_append_time = message.timestamp_type == LOG_APPEND_TIME
    builder = BatchBuilder(
        base_offset=kept[0].offset,
        codec=message.codec,
        log_append_time_ms=message.timestamp if is_append_time else None,
        delete_horizon_ms=given.horizon_ms if has_null else None,
    )
    for record in kept:
        builder.append(record.timestamp, record.key, record.value, offset=record.offset)
    return builder.build()


def note_legacy_keys(
    records: Iterable[LegacyRecord], keys: KeyMap, count_max: int, first_offset: int
) -> tuple[int, bool]:
    """Put the keys of records into a map.

    Returns:
        The offset of the last record that was put, -1 for none; and whether the map is full.

    See: S-82 (Cleaner.buildOffsetMapForSegment).
    """
    last_offset = -1
    for record in records:
        if record.key is None or record.offset < first_offset:
            continue
        if keys.count >= count_max:
            return last_offset, True
        keys.put(memoryview(record.key), 0, len(record.key), record.offset)
        last_offset = record.offset
    return last_offset, False


def _is_kept(record: LegacyRecord, given: LegacyRound) -> bool:
    """See: S-84 (Cleaner.shouldRetainRecord)."""
    if record.offset > given.latest_offset:
        return True
    if record.key is None or (record.value is None and not given.keeps_null):
        return False
    return record.offset >= given.keys.get(memoryview(record.key), 0, len(record.key))
