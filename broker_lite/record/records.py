"""Single records as Python values: for slow paths, tools and tests, never for the hot path.

To find out whether the records of a batch are sound, and the sums that validation needs, call
check_records. Iterate only if the content of each record is needed.
"""

from collections.abc import Iterator, Set
from typing import Final, NamedTuple

from broker_lite.errors import InvalidRecord
from broker_lite.record.batch import NO_SEQUENCE, RecordBatch, increment_sequence
from broker_lite.record.codecs.compression import decompress
from broker_lite.record.codecs.decompressed import UNBOUNDED, Bounds, Decompressed
from broker_lite.record.loops.locate import locate_keys_and_values
from broker_lite.record.loops.scan import RecordCursor, scan_records
from broker_lite.record.loops.scan_status import ScanStatus, scan_error
from broker_lite.record.varint import decode_varint, varint_size_bytes

_MASK_64: Final = 0xFFFFFFFFFFFFFFFF
_SIGN_64: Final = 0x8000000000000000

Headers = tuple[tuple[bytes, bytes | None], ...]


class Record(NamedTuple):
    """One record of a v2 batch; key, value and headers are copies.

    Attributes:
        offset: base offset + offset_delta.
        timestamp: max_timestamp of the batch if it is LogAppendTime.
        sequence: -1 without sequences.
        size_bytes: the size as it would be written; surplus bytes of a length varint do not count.
        attributes: of the record, 0 to 255, without meaning.

    Rule: R-31, R-33 (DefaultRecord).
    See: R-30, R-32.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    sequence: int
    size_bytes: int
    attributes: int
    offset_delta: int
    timestamp_delta: int


class Scan(NamedTuple):
    """The result of scan_records(), with names."""

    status: int
    end_position: int
    records_read: int
    max_timestamp: int
    min_timestamp: int
    null_keys: int
    offsets_sequential: bool


def check_records(batch: RecordBatch, content: Decompressed, *, full_reader: bool) -> Scan:
    """Check the structure of all records of a batch and sum up what validation needs.

    Args:
        batch: its record count and base timestamp are used.
        content: the result of read_content().
        full_reader: True for the reader of R-34, False for that of R-36.

    Raises:
        InvalidRecord: the structure is wrong.
        UnknownServerError: a record length is too long (uncompressed), or the codec failed.

    See: R-37 (DefaultRecordBatch.iterator).
    """
    scan = Scan(
        *scan_records(
            memoryview(content.data),
            0,
            len(content.data),
            batch.record_count,
            batch.base_timestamp,
            full_reader,
        )
    )
    # If the count is 0, Kafka does not open the stream.
    error = scan_error(
        scan.status,
        compressed=batch.is_compressed,
        codec_failed=content.failed and batch.record_count != 0,
    )
    if error is not None:
        raise error
    return scan


def read_content(batch: RecordBatch, *, bounds: Bounds = UNBOUNDED) -> Decompressed:
    """Return the plain records of a batch: a view if it is not compressed.

    Raises:
        UnknownServerError: the codec does not exist.
        WorkStopped: the bounds' `stop` was set.
    """
    if not batch.is_compressed:
        return Decompressed(batch.records_data, False, False)
    return decompress(
        batch.codec,
        batch.records_data,
        output_bytes_max=bounds.output_bytes_max,
        parts_max=bounds.parts_max,
        stop=bounds.stop,
    )


def iterate_records(
    batch: RecordBatch,
    *,
    full_reader: bool = True,
    content: Decompressed | None = None,
    only: Set[int] | None = None,
) -> Iterator[Record]:
    """Yield the records of a batch.

    Args:
        batch: any v2 batch; its checksum is not checked.
        full_reader: R-34; else R-36, for streams that were accepted by that reader.
        content: the result of read_content(), if the caller has it already.
        only: yield only these, counted from 0, and check the others; None for all.

    Raises:
        InvalidRecord: see check_records(); raised when the iteration gets there.
        UnknownServerError: see check_records().

    See: R-37 (DefaultRecordBatch.iterator).
    """
    if batch.record_count < 0:
        raise InvalidRecord(f"Found invalid record count {batch.record_count}")
    if batch.record_count == 0:
        return
    if content is None:
        content = read_content(batch)
    buffer = memoryview(content.data)
    cursor = RecordCursor(buffer, 0, len(buffer), full_reader)
    status = int(ScanStatus.OK)
    for index in range(batch.record_count):
        status = cursor.read_record()
        if status != ScanStatus.OK:
            break
        if only is None or index in only:
            yield _record(batch, buffer, cursor)
    if status == ScanStatus.OK and cursor.position < cursor.end:
        status = ScanStatus.REMAINING
    error = scan_error(status, compressed=batch.is_compressed, codec_failed=content.failed)
    if error is not None:
        raise error


def _record(batch: RecordBatch, buffer: memoryview, cursor: RecordCursor) -> Record:
    offset_delta = cursor.offset_delta
    sequence = NO_SEQUENCE
    if batch.base_sequence >= 0:
        sequence = increment_sequence(batch.base_sequence, offset_delta)
    return Record(
        offset=batch.base_offset + offset_delta,
        timestamp=_timestamp(batch, cursor.timestamp_delta),
        key=_bytes_or_null(buffer, cursor.key_position, cursor.key_length),
        value=_bytes_or_null(buffer, cursor.value_position, cursor.value_length),
        headers=_headers(buffer, cursor),
        sequence=sequence,
        size_bytes=varint_size_bytes(cursor.length) + cursor.length,
        attributes=cursor.attributes,
        offset_delta=offset_delta,
        timestamp_delta=cursor.timestamp_delta,
    )


def _timestamp(batch: RecordBatch, delta: int) -> int:
    if batch.is_log_append_time:
        return batch.max_timestamp
    return (((batch.base_timestamp + delta) & _MASK_64) ^ _SIGN_64) - _SIGN_64


def _bytes_or_null(buffer: memoryview, position: int, length: int) -> bytes | None:
    return None if length < 0 else bytes(buffer[position : position + length])


def _headers(buffer: memoryview, cursor: RecordCursor) -> Headers:
    headers = []
    position = cursor.headers_position
    for _ in range(cursor.header_count):
        length, position = decode_varint(buffer, position, cursor.end)
        key = bytes(buffer[position : position + length])
        length, position = decode_varint(buffer, position + length, cursor.end)
        headers.append((key, _bytes_or_null(buffer, position, length)))
        position += max(length, 0)
    return tuple(headers)


def keys_and_values(batch: RecordBatch) -> list[tuple[bytes | None, bytes | None]]:
    """Return key and value of each record, which is all that a log of state needs.

    Raises:
        InvalidRecord, UnknownServerError: see iterate_records().

    See: R-34, R-37.
    """
    content = read_content(batch)
    data = bytes(content.data)
    status, found = locate_keys_and_values(memoryview(data), 0, len(data), batch.record_count)
    if status != ScanStatus.OK or content.failed:
        # If the count is 0, Kafka does not open the stream.
        error = scan_error(
            status,
            compressed=batch.is_compressed,
            codec_failed=content.failed and batch.record_count != 0,
        )
        if error is not None:
            raise error
    return [
        (
            data[key_start:key_end] if key_start >= 0 else None,
            data[value_start:value_end] if value_start >= 0 else None,
        )
        for key_start, key_end, value_start, value_end in found
    ]
