"""Fills in what differs from request to request in a batch that was encoded before.

That is the producer's sequence, and for `bench e2e` a stamp: the first bytes of the first record's
value say which run wrote it, by which request, and when that was due. A value goes through any
broker as it is, while a timestamp has milliseconds only, and the broker may set it itself.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from broker_lite.errors import BrokerError
from broker_lite.load.crc_append import append_of
from broker_lite.record.batch import (
    ATTRIBUTES_OFFSET,
    CODEC_MASK,
    CURRENT_MAGIC,
    LOG_OVERHEAD,
    RECORD_BATCH_OVERHEAD,
    parse_header,
)
from broker_lite.record.codecs.compression import Codec, compress, decompress
from broker_lite.record.crc import crc32c
from broker_lite.record.varint import VarintError, decode_varint, decode_varlong

_CRC: Final = struct.Struct(">I")
_CRC_OFFSET: Final = 17
_LENGTH: Final = struct.Struct(">i")
_LENGTH_OFFSET: Final = 8
_ATTRIBUTES: Final = struct.Struct(">h")
_PRODUCER: Final = struct.Struct(">qhi")  # id, epoch, base sequence
_PRODUCER_OFFSET: Final = 43
_STAMP: Final = struct.Struct(">8sqq")  # run id, number, due_ns
STAMP_BYTES: Final = _STAMP.size
RUN_ID_BYTES: Final = 8
_PLAIN_BYTES_MAX: Final = 128 << 10  # the stamp is in the first block; no more is looked at


class Batch(NamedTuple):
    """An encoded batch, ready to be sent.

    Attributes:
        data: of the batch.
        records: how many it has.
        stamp_end: behind the stamp; 0 without one.
        codec: by which `data` is compressed for each request, because it has a stamp.
    """

    data: bytes
    records: int
    stamp_end: int = 0
    codec: Codec = Codec.NONE


class Producer(NamedTuple):
    """Who writes: the id from the broker, and the epoch of a partition."""

    producer_id: int
    epoch: int


class Stamp(NamedTuple):
    """The begin of the first value of a batch.

    Attributes:
        run_id: RUN_ID_BYTES, random.
        number: of the request.
        due_ns: when it was due.
    """

    run_id: bytes
    number: int
    due_ns: int

    def encode(self) -> bytes:
        """Return its STAMP_BYTES."""
        return _STAMP.pack(*self)


class Filler:
    """Fills in one batch for each request; most of its bytes are neither copied nor read."""

    def __init__(self, batch: Batch) -> None:
        """Compute the checksum of what never changes.

        Args:
            batch: to send.
        """
        end = batch.stamp_end or RECORD_BATCH_OVERHEAD
        self._codec = batch.codec
        self._head = batch.data[:end]
        self._rest = memoryview(batch.data)[end:]
        self._rest_crc = crc32c(self._rest)
        self._append = append_of(len(self._rest))

    def fill(
        self, producer: Producer | None, sequence: int, stamp: bytes = b""
    ) -> tuple[bytes, memoryview]:
        """Return the batch in two parts, with a new checksum.

        Args:
            producer: None for one without sequences.
            sequence: of its first record.
            stamp: of STAMP_BYTES, for a batch with room for one.
        """
        head = bytearray(self._head)
        if producer is not None:
            _PRODUCER.pack_into(head, _PRODUCER_OFFSET, *producer, sequence)
        if stamp:
            head[-STAMP_BYTES:] = stamp
        if self._codec is not Codec.NONE:
            return self._compressed(head)
        before = crc32c(memoryview(head)[ATTRIBUTES_OFFSET:])
        _CRC.pack_into(head, _CRC_OFFSET, self._append.crc(before, self._rest_crc))
        return bytes(head), self._rest

    def _compressed(self, head: bytearray) -> tuple[bytes, memoryview]:
        plain = b"".join((memoryview(head)[RECORD_BATCH_OVERHEAD:], self._rest))
        del head[RECORD_BATCH_OVERHEAD:]
        data = compress(self._codec, plain)
        _LENGTH.pack_into(head, _LENGTH_OFFSET, len(head) - LOG_OVERHEAD + len(data))
        _ATTRIBUTES.pack_into(head, ATTRIBUTES_OFFSET, self._codec)
        checksum = crc32c(b"".join((memoryview(head)[ATTRIBUTES_OFFSET:], data)))
        _CRC.pack_into(head, _CRC_OFFSET, checksum)
        return bytes(head), memoryview(data)


def stamp_in(batch: memoryview) -> Stamp | None:
    """Return what is at the place of the stamp in any batch; None if nothing can be there.

    Args:
        batch: one complete entry of a log, of any magic, from anywhere.
    """
    try:
        header = parse_header(batch)
        if header.magic != CURRENT_MAGIC:
            return None
        plain: bytes | bytearray | memoryview = batch[RECORD_BATCH_OVERHEAD:]
        codec = header.attributes & CODEC_MASK
        if codec:
            plain = decompress(codec, plain, output_bytes_max=_PLAIN_BYTES_MAX).data
        return Stamp._make(_STAMP.unpack_from(plain, _value_position(memoryview(plain))))
    except (BrokerError, VarintError, struct.error):
        return None


def stamp_end_of(data: bytes) -> int:
    """Return where the stamp of a plain batch ends, from its begin; its first value has room."""
    records = memoryview(data)[RECORD_BATCH_OVERHEAD:]
    return RECORD_BATCH_OVERHEAD + _value_position(records) + STAMP_BYTES


def _value_position(records: memoryview) -> int:
    """Return where the value of the first record begins.

    Raises:
        VarintError: there is no whole record.
    """
    end = len(records)
    _, position = decode_varint(records, 0, end)  # length
    _, position = decode_varlong(records, position + 1, end)  # timestamp delta, after attributes
    _, position = decode_varint(records, position, end)  # offset delta
    key_bytes, position = decode_varint(records, position, end)
    _, position = decode_varint(records, position + max(key_bytes, 0), end)
    return position
