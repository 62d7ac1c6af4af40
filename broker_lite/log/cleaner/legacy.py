"""What a compaction leaves of a message of magic 0 or 1, or of a compressed set: a v2 batch.

From 4.0 on Kafka writes nothing older any more, so what stays becomes a batch, also where all of it
stays. An old tombstone has no delete horizon, and goes when its segment is so old; as a v2 record
it gets one the next time. And there is no empty form of an old message, so a round that would have
to end with one fails, here as in Kafka.

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
    """What the old messages of a segment are compacted by.

    Attributes:
        keys: newest offset of each key.
        latest_offset: what comes after it was not looked at, and stays.
        keeps_null: whether tombstones of this segment stay.
        end_offset: the first one that cannot be cleaned.
        horizon_ms: of tombstones that stay.
    """

    keys: KeyMap
    latest_offset: int
    keeps_null: bool
    end_offset: int
    horizon_ms: int


def compacted_legacy(message: LegacyMessage, given: LegacyRound) -> bytes | None:
    """Give what is left of a message or a set, as one v2 batch, or None.

    Its base offset is that of the first record that stays, its last offset that of the last one.

    Raises:
        BrokerError: its records cannot be read; or nothing is left of the last one of a round.

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
    """Put the keys of records into a map; give what note_keys gives but the status.

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
