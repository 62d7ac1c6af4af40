"""The batch view: one row per batch, from its header alone; nothing is decompressed.

With onCorrupt=report, damage has rows, too. A batch with a wrong checksum has crcValid = false and
the fields of its header; other damaged bytes have a row with only their place. The column error has
the rule and a text, and is null in all other rows.

The header of a compressed message of magic 0 or 1 has no base offset and no record count, so both
are null. A timestamp is null if there is none, or if it is after the year 9999, which Python's
datetime cannot hold.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa

from broker_lite.log.files.names import parse_segment_file
from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.read.batches import LogBatch, read_batches
from broker_lite.pipeline.read.corruption import ON_CORRUPTION, Corruption
from broker_lite.pipeline.read.options import OnCorrupt, ReadOptions
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.views.record_schema import select
from broker_lite.record.batch import (
    CODEC_MASK,
    CONTROL_FLAG,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    TRANSACTIONAL_FLAG,
)
from broker_lite.record.codecs.compression import Codec
from broker_lite.record.legacy.messages import LegacyMessage

ROWS_MAX: Final = 1 << 14

_CODECS: Final = (*(codec.name.lower() for codec in Codec), "5", "6", "7")
_TIMESTAMP_MS_MAX: Final = 253_402_300_799_999  # of the year 9999
_LOG_APPEND_TIME_BIT: Final = 3
_TIMESTAMP: Final = pa.timestamp("us", tz="UTC")


class _Row(NamedTuple):
    """The numbers of a batch, without its bytes; damage has only a place."""

    segment: int
    position: int
    error: str | None
    size_bytes: int | None = None
    base_offset: int | None = None
    last_offset: int | None = None
    record_count: int | None = None
    magic: int | None = None
    timestamp_type: int | None = None
    attributes: int | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    base_sequence: int | None = None
    leader_epoch: int | None = None
    base_timestamp: int | None = None
    max_timestamp: int | None = None
    crc: int | None = None
    crc_is_valid: bool | None = None


_Column = Callable[[Sequence[Any]], Iterable[Any]]


def _flag(flag: int) -> _Column:
    return lambda attributes: [None if one is None else one & flag != 0 for one in attributes]


def _codecs(attributes: Sequence[int | None]) -> list[str | None]:
    return [None if one is None else _CODECS[one & CODEC_MASK] for one in attributes]


def _microseconds(timestamps: Sequence[int | None]) -> list[int | None]:
    return [
        one * 1000 if one is not None and 0 <= one <= _TIMESTAMP_MS_MAX else None
        for one in timestamps
    ]


def _same(values: Sequence[Any]) -> Sequence[Any]:
    return values


class _Form(NamedTuple):
    """How a column is made from a field of the rows."""

    type: pa.DataType
    field: str
    values: _Column = _same


_FORMS: Final[Mapping[str, _Form]] = {
    "segment": _Form(pa.int64(), "segment"),
    "position": _Form(pa.int64(), "position"),
    "sizeInBytes": _Form(pa.int32(), "size_bytes"),
    "baseOffset": _Form(pa.int64(), "base_offset"),
    "lastOffset": _Form(pa.int64(), "last_offset"),
    "recordCount": _Form(pa.int32(), "record_count"),
    "magic": _Form(pa.int32(), "magic"),
    "codec": _Form(pa.string(), "attributes", _codecs),
    "timestampType": _Form(pa.int32(), "timestamp_type"),
    "isTransactional": _Form(pa.bool_(), "attributes", _flag(TRANSACTIONAL_FLAG)),
    "isControl": _Form(pa.bool_(), "attributes", _flag(CONTROL_FLAG)),
    "producerId": _Form(pa.int64(), "producer_id"),
    "producerEpoch": _Form(pa.int32(), "producer_epoch"),
    "baseSequence": _Form(pa.int32(), "base_sequence"),
    "partitionLeaderEpoch": _Form(pa.int32(), "leader_epoch"),
    "baseTimestamp": _Form(_TIMESTAMP, "base_timestamp", _microseconds),
    "maxTimestamp": _Form(_TIMESTAMP, "max_timestamp", _microseconds),
    "crc": _Form(pa.int64(), "crc"),
    "crcValid": _Form(pa.bool_(), "crc_is_valid"),
    "error": _Form(pa.string(), "error"),
}

FIELDS: Final[tuple[pa.Field, ...]] = (
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    *(pa.field(name, form.type) for name, form in _FORMS.items()),
)


def batch_schema(columns: Sequence[str] | None = None) -> pa.Schema:
    """Return the schema of the batch view.

    Args:
        columns: only these.

    Raises:
        ValueError: there is no such column.
    """
    return select(FIELDS, columns)


def batch_rows(io: FileIO, split: Split, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Yield a row for each batch of a split, as Arrow batches of batch_schema().

    Args:
        io: opens split.uri.
        split: from a plan for this view.
        options: uses columns, check_crc, on_corrupt and fail_on_data_loss; without check_crc,
            crcValid is null.

    Raises:
        CorruptLog: something is damaged, with onCorrupt=fail.
        FileNotFoundError: a segment vanished, with failOnDataLoss=true.
        OSError: a file cannot be read.
    """
    schema = batch_schema(options.columns)
    rows: list[_Row] = []
    for row in _rows(io, split, options):
        rows.append(row)
        if len(rows) == ROWS_MAX:
            yield _arrow_batch(schema, split, rows)
            rows = []
    if rows:
        yield _arrow_batch(schema, split, rows)


def _rows(io: FileIO, split: Split, options: ReadOptions) -> Iterator[_Row]:
    is_report = options.on_corrupt is OnCorrupt.REPORT
    damaged: list[Corruption] = []  # since the previous batch
    is_valid = True if options.check_crc else None
    for found in read_batches(
        io,
        split,
        check_crc=options.check_crc,
        on_corrupt=damaged.append if is_report else ON_CORRUPTION[options.on_corrupt],
        skip_missing=not options.fail_on_data_loss,
        keep_unsound=is_report,
    ):
        if not damaged:
            yield _row(found, is_valid, None)
            continue
        last = damaged[-1]
        is_own = (last.file, last.position) == (found.segment.log_path, found.position)
        yield from map(_damaged_row, damaged[:-1] if is_own else damaged)
        yield _row(found, False, _error(last)) if is_own else _row(found, is_valid, None)
        damaged.clear()
    yield from map(_damaged_row, damaged)


def _row(found: LogBatch, crc_is_valid: bool | None, error: str | None) -> _Row:
    segment, position, batch = found
    if isinstance(batch, LegacyMessage):
        return _legacy_row(segment.base_offset, position, batch, crc_is_valid, error)
    return _Row(
        segment.base_offset,
        position,
        error,
        batch.size_bytes,
        batch.base_offset,
        batch.base_offset + batch.last_offset_delta,
        batch.record_count,
        batch.magic,
        batch.attributes >> _LOG_APPEND_TIME_BIT & 1,
        batch.attributes,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.leader_epoch,
        batch.base_timestamp,
        batch.max_timestamp,
        batch.crc,
        crc_is_valid,
    )


def _legacy_row(
    segment: int,
    position: int,
    message: LegacyMessage,
    crc_is_valid: bool | None,
    error: str | None,
) -> _Row:
    """See: R-62, R-63, R-70."""
    return _Row(
        segment,
        position,
        error,
        message.size_bytes,
        None if message.is_wrapper else message.last_offset,
        message.last_offset,
        None if message.is_wrapper else 1,
        message.magic,
        message.timestamp_type,
        message.codec,
        NO_PRODUCER_ID,
        NO_PRODUCER_EPOCH,
        NO_SEQUENCE,
        NO_PARTITION_LEADER_EPOCH,
        message.timestamp,
        message.timestamp,
        message.crc,
        crc_is_valid,
    )


def _damaged_row(corruption: Corruption) -> _Row:
    parsed = parse_segment_file(corruption.file.rpartition("/")[2])
    assert parsed is not None, "the name came from a segment"
    return _Row(parsed[0], corruption.position, _error(corruption))


def _error(corruption: Corruption) -> str:
    return f"{corruption.rule}: {corruption.text}"


def _arrow_batch(schema: pa.Schema, split: Split, rows: list[_Row]) -> pa.RecordBatch:
    fields = dict(zip(_Row._fields, zip(*rows, strict=True), strict=True))
    constants = {"topic": split.topic, "partition": split.partition}
    arrays = []
    for column in schema:
        form = _FORMS.get(column.name)
        if form is None:
            arrays.append(pa.repeat(pa.scalar(constants[column.name], column.type), len(rows)))
        else:
            arrays.append(pa.array(form.values(fields[form.field]), column.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
