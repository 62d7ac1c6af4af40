"""The batch view: one row per batch, from its header alone; nothing is decompressed.

With onCorrupt=report, damage has rows, too. A batch with a wrong checksum has crcValid = false and
the fields of its header; other damaged bytes have a row with only their place. The column error has
the rule and a text, and is null in all other rows.

The header of a compressed message of magic 0 or 1 has no base offset and no record count, so both
are null. A control batch has the type and the value of its record: how a transaction ended, and the
epoch of the coordinator that ended it. A timestamp is null if there is none, or if it is after the
year 9999, which Python's datetime cannot hold.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

import pyarrow as pa

from broker_lite.errors import BrokerError
from broker_lite.log.files.names import parse_segment_file
from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.read.batches import LogBatch, read_batches
from broker_lite.pipeline.read.corruption import ON_CORRUPTION, Corruption
from broker_lite.pipeline.read.options import OnCorrupt, ReadOptions
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.views.record_schema import select
from broker_lite.record.batch import (
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    RecordBatch,
)
from broker_lite.record.codecs.compression import Codec
from broker_lite.record.control import decode_control_key
from broker_lite.record.legacy.messages import LegacyMessage
from broker_lite.record.records import iterate_records

ROWS_MAX: Final = 1 << 14

_CODECS: Final = (*(codec.name.lower() for codec in Codec), "5", "6", "7")
_TIMESTAMP_MS_MAX: Final = 253_402_300_799_999  # of the year 9999
_TIMESTAMP: Final = pa.timestamp("us", tz="UTC")


_Values = Sequence[Any]


def _numbers(values: _Values) -> _Values:
    return [None if one is None else int(one) for one in values]


def _codecs(codecs: _Values) -> _Values:
    return [None if one is None else _CODECS[one] for one in codecs]


def _microseconds(timestamps: _Values) -> _Values:
    return [
        one * 1000 if one is not None and 0 <= one <= _TIMESTAMP_MS_MAX else None
        for one in timestamps
    ]


class _Form(NamedTuple):
    """How a column is made from an attribute of the batches."""

    type: pa.DataType
    attribute: str
    values: Callable[[_Values], _Values] = lambda values: values


_FORMS: Final[Mapping[str, _Form]] = {
    "sizeInBytes": _Form(pa.int32(), "size_bytes"),
    "baseOffset": _Form(pa.int64(), "base_offset"),
    "lastOffset": _Form(pa.int64(), "last_offset"),
    "recordCount": _Form(pa.int32(), "record_count"),
    "magic": _Form(pa.int32(), "magic"),
    "codec": _Form(pa.string(), "codec", _codecs),
    "timestampType": _Form(pa.int32(), "is_log_append_time", _numbers),
    "isTransactional": _Form(pa.bool_(), "is_transactional"),
    "isControl": _Form(pa.bool_(), "is_control"),
    "producerId": _Form(pa.int64(), "producer_id"),
    "producerEpoch": _Form(pa.int32(), "producer_epoch"),
    "baseSequence": _Form(pa.int32(), "base_sequence"),
    "partitionLeaderEpoch": _Form(pa.int32(), "leader_epoch"),
    "baseTimestamp": _Form(_TIMESTAMP, "base_timestamp", _microseconds),
    "maxTimestamp": _Form(_TIMESTAMP, "max_timestamp", _microseconds),
    "deleteHorizon": _Form(_TIMESTAMP, "delete_horizon_ms", _microseconds),
    "crc": _Form(pa.int64(), "crc"),
}
_values_of: Final = attrgetter(*(form.attribute for form in _FORMS.values()))
_CONTROL: Final = ("controlType", "controlValue")
_NO_CONTROL: Final = (None, None)
_DAMAGED: Final = (None,) * (len(_FORMS) + len(_CONTROL))
_COLUMNS: Final = ("segment", "position", *_FORMS, *_CONTROL, "crcValid", "error")

_Row = tuple[Any, ...]
"""The numbers of a batch, without its bytes, in the order of _COLUMNS."""

FIELDS: Final[tuple[pa.Field, ...]] = (
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    pa.field("segment", pa.int64()),
    pa.field("position", pa.int64()),
    *(pa.field(name, form.type) for name, form in _FORMS.items()),
    pa.field("controlType", pa.string()),
    pa.field("controlValue", pa.binary()),
    pa.field("crcValid", pa.bool_()),
    pa.field("error", pa.string()),
)


def batch_schema(columns: Sequence[str] | None = None) -> pa.Schema:
    """Return the schema of the batch view.

    Args:
        columns: only these.

    Raises:
        ValueError: there is no such column.
    """
    return select(FIELDS, columns)


def batch_rows(
    io: FileIO, split: Split, options: ReadOptions, *, rows_max: int = ROWS_MAX
) -> Iterator[pa.RecordBatch]:
    """Yield a row for each batch of a split, as Arrow batches of batch_schema().

    Args:
        io: opens split.uri.
        split: from a plan for this view.
        options: uses columns, check_crc, on_corrupt and fail_on_data_loss; without check_crc,
            crcValid is null.
        rows_max: of one Arrow batch.

    Raises:
        CorruptLog: something is damaged, with onCorrupt=fail.
        FileNotFoundError: a segment vanished, with failOnDataLoss=true.
        OSError: a file cannot be read.
    """
    schema = batch_schema(options.columns)
    rows: list[_Row] = []
    for row in _rows(io, split, options):
        rows.append(row)
        if len(rows) == rows_max:
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
        values = *_legacy_values(batch), *_NO_CONTROL
    else:
        values = *_values_of(batch), *(_control_of(batch) if batch.is_control else _NO_CONTROL)
    return segment.base_offset, position, *values, crc_is_valid, error


def _control_of(batch: RecordBatch) -> tuple[str | None, bytes | None]:
    """Return type and value of a control record; nothing if it was compacted away.

    See: R-41, R-42 (ControlRecordType).
    """
    try:
        record = next(iterate_records(batch), None)
        return (decode_control_key(record.key).name, record.value) if record else _NO_CONTROL
    except BrokerError:  # a wrong checksum is reported, and without checkCrc nobody asks
        return _NO_CONTROL


def _legacy_values(message: LegacyMessage) -> _Row:
    """See: R-62, R-63, R-70."""
    return (
        message.size_bytes,
        None if message.is_wrapper else message.last_offset,
        message.last_offset,
        None if message.is_wrapper else 1,
        message.magic,
        message.codec,
        message.timestamp_type,
        False,
        False,
        NO_PRODUCER_ID,
        NO_PRODUCER_EPOCH,
        NO_SEQUENCE,
        NO_PARTITION_LEADER_EPOCH,
        message.timestamp,
        message.timestamp,
        None,
        message.crc,
    )


def _damaged_row(corruption: Corruption) -> _Row:
    """Make a row that has only the place of damage."""
    parsed = parse_segment_file(corruption.file.rpartition("/")[2])
    assert parsed is not None, "the name came from a segment"
    return parsed[0], corruption.position, *_DAMAGED, None, _error(corruption)


def _error(corruption: Corruption) -> str:
    return f"{corruption.rule}: {corruption.text}"


def _arrow_batch(schema: pa.Schema, split: Split, rows: list[_Row]) -> pa.RecordBatch:
    columns = dict(zip(_COLUMNS, zip(*rows, strict=True), strict=True))
    constants = {"topic": split.topic, "partition": split.partition}
    arrays = []
    for column in schema:
        if column.name in constants:
            arrays.append(pa.repeat(pa.scalar(constants[column.name], column.type), len(rows)))
            continue
        values: _Values = columns[column.name]
        form = _FORMS.get(column.name)
        arrays.append(pa.array(values if form is None else form.values(values), column.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
