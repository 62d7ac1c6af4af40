"""Checks and measures the records of a batch, before memory for Arrow columns is allocated.

Messages of magic 0 and 1 are first rewritten as the plain records of a v2 batch: slow, but simple.
A wrapper can hold messages with several timestamp types; each run of one type is measured alone.
"""

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from broker_lite.errors import BrokerError
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import encode_record
from broker_lite.record.codecs.decompressed import Bounds
from broker_lite.record.legacy.messages import LegacyMessage, LegacyRecord, iterate_legacy
from broker_lite.record.loops.columns import RecordColumns, measure_records
from broker_lite.record.loops.scan_status import scan_error
from broker_lite.record.records import read_content

PLAIN_BYTES_MAX: Final = 256 << 20
"""Limit for the decompressed records of a batch, so that a compression bomb cannot fill the memory.
"""

_CREATE_TIME: Final = -2
_DELTA_MAX: Final = 2**31 - 1


class Unsound(ValueError):
    """The records of a batch cannot be read; has the broken rule and a text."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(rule, text)
        self.rule = rule
        self.text = text


class Measured(NamedTuple):
    """The sound records of a batch, and the sizes of those in the wanted range of offsets.

    Attributes:
        buffer: has the plain records of a v2 batch from start to end.
        append_time_ms: timestamp of all records; None if each has its own.
        timestamp_type: 0 for CreateTime, 1 for LogAppendTime, -1 for messages of magic 0.
        totals: records, key bytes, value bytes, headers, bytes of their keys and values.
    """

    buffer: "memoryview"  # quoted: mypyc does not know the name
    start: int
    end: int
    record_count: int
    base_offset: int
    base_timestamp: int
    append_time_ms: int | None
    timestamp_type: int
    totals: tuple[int, ...]


def measure_batch(batch: RecordBatch, first_offset: int, end_offset: int) -> Measured:
    """Decompress and check the records of a batch.

    Raises:
        Unsound: a record is wrong, in range or not.

    See: R-34, R-37 (DefaultRecordBatch.iterator).
    """
    buffer, start, end, failed = batch.buffer, batch.records_position, batch.end, False
    if batch.is_compressed:
        buffer, failed = _decompressed(batch)
        start, end = 0, len(buffer)
    count, base_offset = batch.record_count, batch.base_offset
    status, _, *totals = measure_records(
        buffer, start, end, count, base_offset, first_offset, end_offset
    )
    if status or failed:
        # With a record count of 0, Kafka does not decompress at all.
        codec_failed = failed and count != 0
        wrong = scan_error(status, compressed=batch.is_compressed, codec_failed=codec_failed)
        if wrong is not None:
            raise Unsound("R-82" if codec_failed else "R-37", str(wrong))
    is_appended = batch.is_log_append_time
    return Measured(
        buffer,
        start,
        end,
        count,
        base_offset,
        batch.base_timestamp,
        batch.max_timestamp if is_appended else None,
        int(is_appended),
        tuple(totals),
    )


def append_records(
    columns: RecordColumns, measured: Measured, first_offset: int, end_offset: int
) -> None:
    """Copy the records of a range of offsets to columns, which must have room for them."""
    append_time = measured.append_time_ms
    columns.append(
        measured.buffer,
        measured.start,
        measured.end,
        measured.record_count,
        measured.base_offset,
        measured.base_timestamp,
        _CREATE_TIME if append_time is None else append_time,
        first_offset,
        end_offset,
    )


def _decompressed(batch: RecordBatch) -> tuple[memoryview, bool]:
    """Return the plain records, and whether the codec failed behind them."""
    try:
        content = read_content(batch, bounds=Bounds(PLAIN_BYTES_MAX))
    except BrokerError as error:
        raise Unsound("R-75", str(error)) from error
    if content.limit_exceeded:
        raise Unsound("R-84", f"the records take more than {PLAIN_BYTES_MAX} bytes")
    return memoryview(content.data), content.failed


def measure_legacy(
    message: LegacyMessage, first_offset: int, end_offset: int, *, check_crc: bool
) -> list[Measured]:
    """Measure a message or a wrapper; check_crc is about the messages inside a wrapper.

    Raises:
        Unsound: a message cannot be read.

    See: R-64 to R-68.
    """
    try:
        records = list(iterate_legacy(message, check_crc=check_crc, bounds=Bounds(PLAIN_BYTES_MAX)))
    except BrokerError as error:
        raise Unsound("R-68" if message.is_wrapper else "R-06", str(error)) from error
    return [
        _measure_run(list(run), timestamp_type, first_offset, end_offset)
        for timestamp_type, run in groupby(records, key=attrgetter("timestamp_type"))
    ]


def _measure_run(
    records: list[LegacyRecord], timestamp_type: int, first_offset: int, end_offset: int
) -> Measured:
    base_offset = records[0].offset
    content = memoryview(b"".join(_encoded(records, base_offset)))
    _, _, *totals = measure_records(
        content, 0, len(content), len(records), base_offset, first_offset, end_offset
    )
    place = content, 0, len(content)
    return Measured(*place, len(records), base_offset, 0, None, timestamp_type, tuple(totals))


def _encoded(records: list[LegacyRecord], base_offset: int) -> Iterator[bytes]:
    for record in records:
        delta = record.offset - base_offset
        if not 0 <= delta <= _DELTA_MAX:
            raise Unsound("R-65", f"offset {record.offset} in one set with {base_offset}")
        yield encode_record(record.timestamp, delta, record.key, record.value)
