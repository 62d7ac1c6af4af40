"""Batches by hand, so that every field can be wrong; the reference 4.3.1 got the same bytes."""

import gzip
import struct

from crc32c import crc32c

BASE_TIMESTAMP = 1700000000000


def varint(value: int) -> bytes:
    raw = ((value << 1) ^ (value >> 63)) & (1 << 64) - 1
    out = bytearray()
    while raw >= 0x80:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    return bytes(out) + bytes([raw])


def sized(value: bytes | None) -> bytes:
    return varint(-1) if value is None else varint(len(value)) + value


def record(
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    *,
    timestamp_delta: int = 0,
    offset_delta: int = 0,
    attributes: int = 0,
    headers: bytes = b"\0",
    length_error: int = 0,
) -> bytes:
    body = bytes([attributes]) + varint(timestamp_delta) + varint(offset_delta)
    body += sized(key) + sized(value) + headers
    return varint(len(body) + length_error) + body


def records(count: int) -> bytes:
    return b"".join(record(offset_delta=index) for index in range(count))


def batch(
    content: bytes,
    *,
    count: int = 1,
    last_offset_delta: int | None = None,
    attributes: int = 0,
    base_offset: int = 0,
    timestamp: int = BASE_TIMESTAMP,
    max_timestamp: int | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
    leader_epoch: int = -1,
    crc: int | None = None,
    length: int | None = None,
    magic: int = 2,
) -> bytes:
    body = struct.pack(
        ">hiqqqhii",
        attributes,
        count - 1 if last_offset_delta is None else last_offset_delta,
        timestamp,
        timestamp if max_timestamp is None else max_timestamp,
        *producer,
        count,
    )
    body += content
    return (
        struct.pack(
            ">qiibI",
            base_offset,
            len(body) + 9 if length is None else length,
            leader_epoch,
            magic,
            crc32c(body) if crc is None else crc,
        )
        + body
    )


def gzipped(content: bytes, **fields: object) -> bytes:
    attributes = int(str(fields.pop("attributes", 0)))
    return batch(gzip.compress(content, mtime=0), attributes=attributes | 1, **fields)  # type: ignore[arg-type]


def writable(data: bytes) -> memoryview:
    return memoryview(bytearray(data))
