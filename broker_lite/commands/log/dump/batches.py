"""Formats the batches and records of a .log file, line for line as kafka-dump-log does.

The compiled reader returns the records of a v2 batch as columns, which become lines. Control
batches and old messages are rare and go record by record.

Source: DumpLogSegments.dumpLog.
"""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from broker_lite.commands.log.files import FoundEntry
from broker_lite.commands.shared.internal_records import (
    Decoded,
    Decoder,
    decode_quorum_control,
    decode_text,
)
from broker_lite.errors import BrokerError
from broker_lite.pipeline.read.measured import Measured, Unsound, append_records, measure_batch
from broker_lite.record.batch import RecordBatch
from broker_lite.record.codecs.compression import Codec
from broker_lite.record.codecs.decompressed import Bounds
from broker_lite.record.control import ControlType, decode_control_key, decode_end_transaction
from broker_lite.record.legacy.messages import LegacyMessage, LegacyRecord, iterate_legacy
from broker_lite.record.loops.columns import HEADERS, KEYS, VALUES, RecordColumns
from broker_lite.record.records import Record, iterate_records

_SEQUENCE_MASK: Final = 0x7FFFFFFF
_ALL: Final = 1 << 62
_WRAPPED_BYTES_MAX: Final = 256 << 20
_TIMESTAMP_NAMES: Final = {-1: "NoTimestampType", 0: "CreateTime", 1: "LogAppendTime"}
_CODEC_NAMES: Final = {codec.value: codec.name.lower() for codec in Codec}
_END_MARKERS: Final = (ControlType.ABORT, ControlType.COMMIT)


class Wanted(NamedTuple):
    """What to print of a file.

    Attributes:
        records: whether to print records.
        content: whether to print keys and values.
        metadata: whether to print the other fields; without them, control batches are left out.
        decoder: decodes keys and values.
    """

    records: bool
    content: bool
    metadata: bool = True
    decoder: Decoder = decode_text


def batch_line(found: FoundEntry) -> str:
    """Describe a batch."""
    batch = found.batch
    if isinstance(batch, RecordBatch):
        horizon = batch.delete_horizon_ms
        head = (
            f"baseOffset: {batch.base_offset} lastOffset: {batch.last_offset}"
            f" count: {batch.record_count} baseSequence: {batch.base_sequence}"
            f" lastSequence: {batch.last_sequence} producerId: {batch.producer_id}"
            f" producerEpoch: {batch.producer_epoch} partitionLeaderEpoch: {batch.leader_epoch}"
            f" isTransactional: {_flag(batch.is_transactional)}"
            f" isControl: {_flag(batch.is_control)}"
            f" deleteHorizonMs: {optional_text(horizon)}"
        )
        magic, crc, timestamp = 2, batch.crc, batch.max_timestamp
        timestamp_name = _TIMESTAMP_NAMES[int(batch.is_log_append_time)]
    else:
        head = f"offset: {batch.last_offset}"
        magic, crc, timestamp = batch.magic, batch.crc, batch.timestamp
        timestamp_name = _TIMESTAMP_NAMES[batch.timestamp_type]
    return (
        f"{head} position: {found.position} {timestamp_name}: {timestamp}"
        f" size: {batch.size_bytes} magic: {magic} compresscodec: {codec_name(batch.codec)}"
        f" crc: {crc} isvalid: {_flag(batch.crc_is_valid())}"
    )


def record_lines(batch: RecordBatch | LegacyMessage, wanted: Wanted) -> Iterator[str]:
    """Describe the records of a batch, up to the first unreadable one.

    Raises:
        Unsound: the records cannot be read.
    """
    if isinstance(batch, LegacyMessage):
        yield from _legacy_lines(batch, wanted)
    elif batch.is_control:
        yield from _control_lines(batch, wanted)
    else:
        yield from _data_lines(batch, wanted)


def codec_name(codec: int) -> str:
    """Return Kafka's name of a codec, or the number of an unknown one."""
    return _CODEC_NAMES.get(codec, str(codec))


def optional_text(number: int | None) -> str:
    """Format a number or None as Java's OptionalLong."""
    return "OptionalLong.empty" if number is None else f"OptionalLong[{number}]"


def columns_of(measured: Measured) -> RecordColumns:
    """Read all records of a measured batch."""
    columns = RecordColumns(KEYS | VALUES | HEADERS, *measured.totals)
    append_records(columns, measured, 0, _ALL)
    return columns


def sequences(batch: RecordBatch, offsets: list[int]) -> list[int]:
    """Return the sequence of each record; -1 without an idempotent producer.

    See: R-20 (DefaultRecord.readFrom).
    """
    if batch.base_sequence < 0:
        return [-1] * len(offsets)
    first = batch.base_sequence - batch.base_offset
    return [(first + offset) & _SEQUENCE_MASK for offset in offsets]


def header_keys(columns: RecordColumns) -> list[str]:
    """Return the header keys of each record, joined with commas."""
    if columns.headers == 0:
        return [""] * columns.records
    data = bytes(columns.header_key_data)
    ends = memoryview(columns.header_key_ends).tolist()
    keys = [data[start:end].decode("utf-8", "replace") for start, end in pairwise(ends)]
    lists = memoryview(columns.header_list_ends).tolist()
    return [",".join(keys[start:end]) if end > start else "" for start, end in pairwise(lists)]


def fields_of(bits: memoryview, ends: memoryview, data: memoryview) -> list[bytes | None]:
    """Return the keys or the values of columns."""
    content, places = bytes(data), memoryview(ends).tolist()
    return [
        content[start:end] if end > start else (b"" if bits[row >> 3] >> (row & 7) & 1 else None)
        for row, (start, end) in enumerate(pairwise(places))
    ]


def _data_lines(batch: RecordBatch, wanted: Wanted) -> Iterator[str]:
    columns = columns_of(measure_batch(batch, 0, _ALL))
    keys = fields_of(columns.key_bits, columns.key_ends, columns.key_data)
    values = fields_of(columns.value_bits, columns.value_ends, columns.value_data)
    if not wanted.metadata:
        for key, value in zip(keys, values, strict=True):
            yield _bare(_content(key, value, wanted))
        return
    offsets = memoryview(columns.offsets).tolist()
    name = _TIMESTAMP_NAMES[int(batch.is_log_append_time)]
    rows = zip(
        offsets,
        memoryview(columns.timestamps).tolist(),
        keys,
        values,
        sequences(batch, offsets),
        header_keys(columns),
        strict=True,
    )
    for offset, timestamp, key, value, sequence, headers in rows:
        line = (
            f"| offset: {offset} {name}: {timestamp}"
            f" keySize: {-1 if key is None else len(key)}"
            f" valueSize: {-1 if value is None else len(value)}"
            f" sequence: {sequence} headerKeys: [{headers}]"
        )
        yield line + _content(key, value, wanted) if wanted.content else line


def _control_lines(batch: RecordBatch, wanted: Wanted) -> Iterator[str]:
    try:
        for record in iterate_records(batch):
            text = _record_head(record, batch) + _control_text(record)
            yield text if wanted.metadata else ""
    except BrokerError as error:
        raise Unsound("R-37", str(error)) from error


def _record_head(record: Record, batch: RecordBatch) -> str:
    keys = b",".join(key for key, _ in record.headers).decode("utf-8", "replace")
    (sequence,) = sequences(batch, [record.offset])
    return (
        f"| offset: {record.offset} {_TIMESTAMP_NAMES[int(batch.is_log_append_time)]}:"
        f" {record.timestamp} keySize: {_length(record.key)} valueSize: {_length(record.value)}"
        f" sequence: {sequence} headerKeys: [{keys}]"
    )


def _control_text(record: Record) -> str:
    control_type = decode_control_key(record.key)
    if control_type in _END_MARKERS:
        epoch = decode_end_transaction(record.value)
        return f" endTxnMarker: {control_type.name} coordinatorEpoch: {epoch}"
    label, value = decode_quorum_control(control_type, record.value)
    return f" {label}" if value is None else f" {label} {_decoded_text(value)}"


def _legacy_lines(message: LegacyMessage, wanted: Wanted) -> Iterator[str]:
    try:
        for record in iterate_legacy(message, bounds=Bounds(_WRAPPED_BYTES_MAX)):
            content = _content(record.key, record.value, wanted) if wanted.content else ""
            if wanted.metadata:
                yield _legacy_head(record, message) + content
            else:
                yield _bare(content)
    except BrokerError as error:
        raise Unsound("R-37", str(error)) from error


def _legacy_head(record: LegacyRecord, message: LegacyMessage) -> str:
    """Describe an old record; only one outside a wrapper has a checksum of its own."""
    head = (
        f"| offset: {record.offset} {_TIMESTAMP_NAMES[record.timestamp_type]}:"
        f" {record.timestamp} keySize: {_length(record.key)} valueSize: {_length(record.value)}"
    )
    if message.is_wrapper:
        return head
    return f"{head} isValid: {_flag(message.crc_is_valid())} crc: {message.crc}"


def _content(key: bytes | None, value: bytes | None, wanted: Wanted) -> str:
    shown_key, shown_value = wanted.decoder(key, value)
    text = "" if shown_key is None else f" key: {_decoded_text(shown_key)}"
    return text if shown_value is None else f"{text} payload: {_decoded_text(shown_value)}"


def _bare(content: str) -> str:
    return f"|{content}" if content else ""


def _decoded_text(decoded: Decoded) -> str:
    if isinstance(decoded, str):
        return decoded
    return json.dumps(decoded, separators=(",", ":"), ensure_ascii=False)


def _length(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _flag(value: bool) -> str:
    return "true" if value else "false"
