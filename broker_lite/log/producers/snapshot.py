"""The .snapshot file of a segment: the producers of a partition as bytes, version 1.

Layout, big-endian: int16 version, uint32 CRC-32C of everything after it, int32 count, then 46 bytes
for each entry, with the newest batch of a producer only (V-67). Nothing here touches a file: bytes
come in and go out.

Rule: V-67.
"""

import struct
from collections.abc import Iterable
from typing import Final

from broker_lite.log.producers.entry import (
    NO_OFFSET,
    BatchMetadata,
    ProducerEntry,
    decrement_sequence,
)
from broker_lite.record.crc import crc32c

VERSION: Final = 1
HEADER: Final = struct.Struct(">hIi")
ENTRY: Final = struct.Struct(">qhiqiqiq")
CRC_COVERS_FROM: Final = 6


class CorruptSnapshot(ValueError):
    """A snapshot cannot be read; the caller deletes the file and takes an older one."""


def encode_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    """Encode the entries in their order.

    Rule: S-17 (ProducerStateManager.writeSnapshot).
    """
    packed = [_pack(entry) for entry in entries]
    content = struct.pack(">i", len(packed)) + b"".join(packed)
    return struct.pack(">hI", VERSION, crc32c(content)) + content


def _pack(entry: ProducerEntry) -> bytes:
    newest = entry.batches[-1] if entry.batches else None
    return ENTRY.pack(
        entry.producer_id,
        entry.epoch,
        entry.last_sequence,
        newest.last_offset if newest is not None else NO_OFFSET,
        newest.offset_delta if newest is not None else 0,
        entry.last_timestamp_ms,
        entry.coordinator_epoch,
        entry.transaction_first_offset,
    )


def decode_snapshot(data: bytes) -> list[ProducerEntry]:
    """Decode all entries, even expired ones.

    Raises:
        CorruptSnapshot: another version, a wrong checksum, or a size that does not fit the count.

    Rule: S-17 (ProducerStateManager.readSnapshot).
    """
    if len(data) < HEADER.size:
        raise CorruptSnapshot(f"{len(data)} bytes are less than a header")
    version, crc, count = HEADER.unpack_from(data)
    if version != VERSION:
        raise CorruptSnapshot(f"unknown version {version}")
    if crc != crc32c(data[CRC_COVERS_FROM:]):
        raise CorruptSnapshot("wrong checksum")
    if count < 0 or len(data) != HEADER.size + count * ENTRY.size:
        raise CorruptSnapshot(f"{len(data)} bytes do not fit {count} entries")
    return [_entry(*values) for values in ENTRY.iter_unpack(memoryview(data)[HEADER.size :])]


def _entry(
    producer_id: int,
    epoch: int,
    last_sequence: int,
    last_offset: int,
    offset_delta: int,
    timestamp: int,
    coordinator_epoch: int,
    transaction_first_offset: int,
) -> ProducerEntry:
    entry = ProducerEntry(
        producer_id,
        epoch=epoch,
        coordinator_epoch=coordinator_epoch,
        last_timestamp_ms=timestamp,
        transaction_first_offset=max(transaction_first_offset, NO_OFFSET),
    )
    if last_offset >= 0:
        first_sequence = decrement_sequence(last_sequence, offset_delta)
        entry.add_batch(
            BatchMetadata(first_sequence, last_sequence, last_offset, offset_delta, timestamp)
        )
    return entry
