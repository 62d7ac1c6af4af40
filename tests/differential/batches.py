"""Record batches built byte by byte, so that every field can be wrong on purpose."""

import random
import struct
from dataclasses import dataclass, field, replace

from broker_lite.record.codecs.compression import compress
from broker_lite.record.crc import crc32c
from broker_lite.record.varint import encode_varint, encode_varlong

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
LEVELS = {NONE: 0, GZIP: -1, SNAPPY: 0, LZ4: 9, ZSTD: 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSpec:
    """One record; a length that is not None is written whatever the bytes are."""

    timestamp_delta: int = 0
    offset_delta: int = 0
    key: bytes | None = b"k"
    value: bytes | None = b"v"
    headers: tuple[tuple[bytes, bytes | None], ...] = ()
    attributes: int = 0
    key_length: int | None = None
    value_length: int | None = None
    header_count: int | None = None
    length_error: int = 0
    raw: bytes | None = None

    def encode(self) -> bytes:
        """The bytes of the record, its length in front."""
        if self.raw is not None:
            return self.raw
        body = bytearray([self.attributes & 0xFF])
        body += encode_varlong(self.timestamp_delta) + encode_varint(self.offset_delta)
        body += _field(self.key, self.key_length) + _field(self.value, self.value_length)
        count = len(self.headers) if self.header_count is None else self.header_count
        body += encode_varint(count)
        for key, value in self.headers:
            body += encode_varint(len(key)) + key + _field(value, None)
        return encode_varint(len(body) + self.length_error) + bytes(body)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSpec:
    """One v2 batch; what is None follows from the records."""

    records: tuple[RecordSpec, ...]
    codec: int = NONE
    payload: bytes | None = None
    base_offset: int = 0
    length: int | None = None
    leader_epoch: int = -1
    magic: int = 2
    crc: int | None = None
    attributes: int = 0
    last_offset_delta: int | None = None
    base_timestamp: int = 0
    max_timestamp: int | None = None
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    count: int | None = None
    edits: tuple[tuple[int, int], ...] = field(default=())

    def encode(self) -> bytes:
        """The bytes of the batch; `edits` (position, byte) come before the CRC is computed."""
        plain = b"".join(record.encode() for record in self.records)
        payload = self.payload
        if payload is None:
            payload = (
                plain
                if self.codec == NONE
                else bytes(compress(self.codec, plain, LEVELS[self.codec]))
            )
        times = [self.base_timestamp + record.timestamp_delta for record in self.records] or [-1]
        count = len(self.records) if self.count is None else self.count
        body = struct.pack(
            ">hiqqqhii",
            _signed(self.attributes | self.codec, 16),
            len(self.records) - 1 if self.last_offset_delta is None else self.last_offset_delta,
            _signed(self.base_timestamp, 64),
            _signed(max(times) if self.max_timestamp is None else self.max_timestamp, 64),
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            count,
        )
        edited = bytearray(body + payload)
        for position, value in self.edits:
            edited[position % len(edited)] = value
        crc = crc32c(edited) if self.crc is None else self.crc
        length = 9 + len(edited) if self.length is None else self.length
        head = struct.pack(">qiibI", self.base_offset, length, self.leader_epoch, self.magic, crc)
        return head + bytes(edited)


def _field(data: bytes | None, length: int | None) -> bytes:
    if length is None:
        length = -1 if data is None else len(data)
    return encode_varint(length) + (data or b"")


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def random_records(source: random.Random, count: int, *, keys: bool) -> tuple[RecordSpec, ...]:
    """Well-formed records with deltas 0, 1, 2, … and random contents."""
    made = []
    for index in range(count):
        headers = tuple(
            (source.randbytes(source.randrange(6)), _maybe_bytes(source, 10))
            for _ in range(source.choice((0, 0, 0, 1, 3)))
        )
        made.append(
            RecordSpec(
                timestamp_delta=source.choice(
                    (0, index, -index, 1000 * index, source.randrange(5000))
                ),
                offset_delta=index,
                key=source.randbytes(source.randrange(8)) if keys else _maybe_bytes(source, 8),
                value=_maybe_bytes(source, source.choice((5, 50, 500))),
                headers=headers,
            )
        )
    return tuple(made)


def with_record(batch: BatchSpec, index: int, **changes: object) -> BatchSpec:
    """The batch with one record changed."""
    records = list(batch.records)
    records[index] = replace(records[index], **changes)  # type: ignore[arg-type]
    return replace(batch, records=tuple(records))


def _maybe_bytes(source: random.Random, size: int) -> bytes | None:
    return None if source.random() < 0.15 else source.randbytes(source.randrange(size + 1))


def edited(source: random.Random, data: bytes, edits: int) -> bytes:
    """The data with some bytes replaced."""
    changed = bytearray(data)
    for _ in range(edits):
        if changed:
            changed[source.randrange(len(changed))] = source.randrange(256)
    return bytes(changed)
