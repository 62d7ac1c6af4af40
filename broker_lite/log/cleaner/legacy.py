"""What a compaction leaves of a message of magic 0 or 1, or of a compressed set of them.

Such a message has no delete horizon: a tombstone goes when its segment is so old. And there is no
empty form of it, so a round that would have to end with one fails, here as in Kafka.

Rule: S-84, R-90 (Cleaner.cleanInto, MemoryRecords.filterTo).
"""

from typing import NamedTuple

from broker_lite.errors import UnknownServerError
from broker_lite.record.key_map import KeyMap
from broker_lite.record.legacy import (
    LOG_APPEND_TIME,
    LegacyMessage,
    LegacyRecord,
    iterate_legacy,
)
from broker_lite.record.legacy_builder import LegacySetBuilder


class LegacyRound(NamedTuple):
    """What the old messages of a segment are compacted by.

    Attributes:
        keys: newest offset of each key.
        latest_offset: what comes after it was not looked at, and stays.
        keeps_null: whether tombstones of this segment stay.
        end_offset: the first one that cannot be cleaned.
    """

    keys: KeyMap
    latest_offset: int
    keeps_null: bool
    end_offset: int


def compacted_legacy(message: LegacyMessage, given: LegacyRound) -> bytes | memoryview | None:
    """Give what is left of a message or a set: itself, as a view, a smaller one, or None.

    Raises:
        BrokerError: its records cannot be read; or nothing is left of the last one of a round.
    """
    records = list(iterate_legacy(message))
    kept = [record for record in records if _is_kept(record, given)]
    if len(kept) == len(records):
        return message.buffer[message.position : message.end]
    if kept:
        return _rebuilt(message, kept)
    if message.next_offset == given.end_offset:
        raise UnknownServerError("Empty batches are only supported for magic v2 and above")
    return None


def note_legacy_keys(
    message: LegacyMessage, keys: KeyMap, count_max: int, first_offset: int
) -> tuple[int, bool]:
    """Put the keys of a message or a set into a map; give what note_keys gives but the status.

    Rule: S-82 (Cleaner.buildOffsetMapForSegment).
    """
    last_offset = -1
    for record in iterate_legacy(message):
        if record.key is None or record.offset < first_offset:
            continue
        if keys.count >= count_max:
            return last_offset, True
        keys.put(memoryview(record.key), 0, len(record.key), record.offset)
        last_offset = record.offset
    return last_offset, False


def _is_kept(record: LegacyRecord, given: LegacyRound) -> bool:
    """Rule: S-84 (Cleaner.shouldRetainRecord)."""
    if record.offset > given.latest_offset:
        return True
    if record.key is None or (record.value is None and not given.keeps_null):
        return False
    return record.offset >= given.keys.get(memoryview(record.key), 0, len(record.key))


def _rebuilt(message: LegacyMessage, kept: list[LegacyRecord]) -> bytes:
    """Rule: R-90 (MemoryRecords.buildRetainedRecordsInto)."""
    is_append_time = message.timestamp_type == LOG_APPEND_TIME
    builder = LegacySetBuilder(
        message.magic,
        codec=message.codec,
        log_append_time_ms=message.timestamp if is_append_time else None,
    )
    for record in kept:
        builder.append(record.offset, record.timestamp, record.key, record.value)
    return builder.build()
