"""How each poison changes a batch; see catalogue."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from broker_lite.record.batch import (
    CODEC_MASK,
    CONTROL_FLAG,
    LOG_OVERHEAD,
    NO_PRODUCER_ID,
    RECORD_BATCH_OVERHEAD,
    TRANSACTIONAL_FLAG,
)
from broker_lite.record.varint import decode_varint, encode_varint
from broker_lite.testbench.faults.poison.batch import Batch, Parts, Span, highest, lowest_negative
from broker_lite.testbench.faults.problems import CannotApply

Change: TypeAlias = Callable[[Batch], None]

_GZIP: Final = 1
_NO_CODEC: Final = 7
_NO_MAGIC: Final = 9
_TOO_SHORT: Final = 13
_HEADER_KEY: Final = b"x"


def poisoned(name: str, records: bytes | bytearray | memoryview) -> bytes:
    """Return the records of a partition with one thing wrong; the size is the same.

    Args:
        name: of the poison.
        records: of the answer.

    Raises:
        CannotApply: these records cannot be spoiled in this way.
    """
    data = bytearray(records)
    batch = Batch(data)
    _CHANGES[name](batch)
    if name != "bad-crc":
        batch.seal()
    return bytes(data)


def _bad_crc(batch: Batch) -> None:
    batch.set(crc=batch.header.crc ^ 0xFFFFFFFF)


def _flipped_byte(batch: Batch) -> None:
    if batch.is_compressed:
        batch.flip((RECORD_BATCH_OVERHEAD + batch.end) // 2)
        return
    for record in batch.records():
        for span in (record.value, record.key):
            if span.size:
                batch.flip(span.end - 1)
                return
    raise CannotApply("no record has a value or a key")


def _count_too_high(batch: Batch) -> None:
    batch.set(record_count=batch.header.record_count + 1)


def _count_too_low(batch: Batch) -> None:
    batch.set(record_count=batch.header.record_count - 1)


def _offset_gap(batch: Batch) -> None:
    """Take the second record out; a header of the first one takes its room."""
    first, second = _two(batch)
    before = batch.data[first.body.start : first.header_count.start]
    count, position = decode_varint(bytes(batch.data), first.header_count.start, batch.end)
    headers = batch.data[position : first.whole.end]
    room = Span(first.whole.start, second.whole.end)
    for key in (_HEADER_KEY, 2 * _HEADER_KEY):
        for size in range(second.whole.size):
            header = encode_varint(len(key)) + key + encode_varint(size) + bytes(size)
            body = bytes(before) + encode_varint(count + 1) + bytes(headers) + header
            whole = encode_varint(len(body)) + body
            if len(whole) == room.size:
                batch.write(room, whole)
                batch.set(record_count=batch.header.record_count - 1)
                return
    raise CannotApply("the second record leaves no room for a header")


def _offset_backwards(batch: Batch) -> None:
    delta = batch.records()[-1].offset_delta
    batch.write(delta, lowest_negative(delta.size, 1))


def _duplicate_offsets(batch: Batch) -> None:
    first, second = _two(batch)
    if first.offset_delta.size != second.offset_delta.size:
        raise CannotApply("the offsets of the first two records have different sizes")
    span = first.offset_delta
    batch.write(second.offset_delta, bytes(batch.data[span.start : span.end]))


def _length_too_long(batch: Batch) -> None:
    batch.set(length=len(batch.data) - LOG_OVERHEAD + 1)


def _length_too_short(batch: Batch) -> None:
    batch.set(length=_TOO_SHORT)


def _unknown_magic(batch: Batch) -> None:
    batch.set(magic=_NO_MAGIC)


def _unknown_codec(batch: Batch) -> None:
    batch.set(attributes=batch.header.attributes | _NO_CODEC)


def _broken_stream(batch: Batch) -> None:
    if not batch.is_compressed:
        batch.set(attributes=batch.header.attributes & ~CODEC_MASK | _GZIP)
    span = Span(RECORD_BATCH_OVERHEAD, batch.end)
    batch.write(span, b"\xff" * span.size)


def _control_batch(batch: Batch) -> None:
    batch.set(attributes=batch.header.attributes | CONTROL_FLAG)


def _open_transaction(batch: Batch) -> None:
    batch.set(attributes=batch.header.attributes | TRANSACTIONAL_FLAG)
    if batch.header.producer_id == NO_PRODUCER_ID:
        batch.set(producer_id=1, producer_epoch=0, base_sequence=0)


def _old_timestamp(batch: Batch) -> None:
    header = batch.header
    batch.set(base_timestamp=1, max_timestamp=1 + header.max_timestamp - header.base_timestamp)


def _epoch_backwards(batch: Batch) -> None:
    if batch.header.leader_epoch < 0:
        raise CannotApply("the batch has no leader epoch")
    batch.set(leader_epoch=batch.header.leader_epoch - 1)


def _negative_varint(batch: Batch) -> None:
    span = batch.records()[0].value_length
    batch.write(span, lowest_negative(span.size, 2))


def _header_count(batch: Batch) -> None:
    span = batch.records()[0].header_count
    batch.write(span, highest(span.size))


def _two(batch: Batch) -> tuple[Parts, Parts]:
    """Return the first two records of a batch."""
    records = batch.records()
    if len(records) == 1:
        raise CannotApply("the batch has one record, and it takes two")
    return records[0], records[1]


_CHANGES: Final[Mapping[str, Change]] = {
    "bad-crc": _bad_crc,
    "flipped-byte": _flipped_byte,
    "count-too-high": _count_too_high,
    "count-too-low": _count_too_low,
    "offset-gap": _offset_gap,
    "offset-backwards": _offset_backwards,
    "duplicate-offsets": _duplicate_offsets,
    "length-too-long": _length_too_long,
    "length-too-short": _length_too_short,
    "unknown-magic": _unknown_magic,
    "unknown-codec": _unknown_codec,
    "broken-stream": _broken_stream,
    "control-batch": _control_batch,
    "open-transaction": _open_transaction,
    "old-timestamp": _old_timestamp,
    "epoch-backwards": _epoch_backwards,
    "negative-varint": _negative_varint,
    "header-count": _header_count,
}
