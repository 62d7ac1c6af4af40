"""Rewrite entries of a log for clients that know only messages of magic 0, or of 0 and 1.

The work goes entry by entry: one batch becomes the messages of its records, or one wrapper with the
same codec. Offsets are kept. Headers, producers, transactions and control batches are lost, and in
magic 0 the timestamps, too. Such clients know nothing of aborted transactions: they get all
records.

Rule: F-61 (RecordsUtil.downConvert).
"""

from collections.abc import Iterator
from typing import TypeAlias

from broker_lite.errors import UnknownServerError, UnsupportedCompressionType
from broker_lite.record.batch import CURRENT_MAGIC, RecordBatch
from broker_lite.record.codecs.compression import Codec, codec_of
from broker_lite.record.codecs.decompressed import Bounds
from broker_lite.record.framing import Entry
from broker_lite.record.legacy.message_builder import LegacySetBuilder
from broker_lite.record.legacy.messages import LOG_APPEND_TIME, LegacyMessage, iterate_legacy
from broker_lite.record.records import iterate_records, read_content
from broker_lite.record.stopping import Stop

_Fields: TypeAlias = tuple[int, int, bytes | None, bytes | None]


def down_convert(
    buffer: memoryview,
    entry: Entry,
    magic: int,
    *,
    first_offset: int,
    bounds: Bounds,
) -> bytes | memoryview:
    """Rewrite one entry.

    Args:
        buffer: holds the entry.
        entry: its place in the buffer, and its magic.
        magic: 0 or 1, the highest that the client knows.
        first_offset: plain records below it are left out; a compressed batch keeps all records.
        bounds: for a batch's records, where Kafka has no limit; `stop` is checked before each.

    Returns:
        The entry itself, as a view, if the client knows its magic; no bytes for a control batch, or
        if no record is left.

    Raises:
        UnsupportedCompressionType: the batch is compressed with zstd.
        InvalidRecord, CorruptMessage, UnknownServerError: the records cannot be read, are too many,
            or have a timestamp below -1.
        WorkStopped: the bounds' `stop` was set.
    """
    data = buffer[entry.position : entry.position + entry.size_bytes]
    if entry.magic <= magic:
        return data
    if entry.magic >= CURRENT_MAGIC:
        return _from_batch(data, magic, first_offset, bounds)
    message = LegacyMessage(data, 0, entry.size_bytes)
    append_time_ms = message.timestamp if message.timestamp_type == LOG_APPEND_TIME else None
    records = (
        (record.offset, record.timestamp, record.key, record.value)
        for record in iterate_legacy(message, bounds=bounds)
    )
    return _build(
        magic, codec_of(message.codec), append_time_ms, records, first_offset, bounds.stop
    )


def _from_batch(data: memoryview, magic: int, first_offset: int, bounds: Bounds) -> bytes:
    batch = RecordBatch(data, 0, len(data))
    if batch.is_control:
        return b""
    codec = codec_of(batch.codec)
    if codec is Codec.ZSTD:
        raise UnsupportedCompressionType
    content = read_content(batch, bounds=bounds)
    if content.limit_exceeded:
        raise UnknownServerError(
            f"a batch is larger than {bounds.output_bytes_max} bytes uncompressed"
        )
    append_time_ms = batch.max_timestamp if batch.is_log_append_time else None
    records = (
        (record.offset, record.timestamp, record.key, record.value)
        for record in iterate_records(batch, content=content)
    )
    return _build(magic, codec, append_time_ms, records, first_offset, bounds.stop)


def _build(
    magic: int,
    codec: Codec,
    append_time_ms: int | None,
    records: Iterator[_Fields],
    first_offset: int,
    stop: Stop,
) -> bytes:
    builder = LegacySetBuilder(magic, codec=codec, log_append_time_ms=append_time_ms)
    for offset, timestamp, key, value in records:
        stop.check()
        if codec is not Codec.NONE or offset >= first_offset:
            builder.append(offset, timestamp, key, value)
    return builder.build()
