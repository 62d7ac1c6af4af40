"""Builds record batches as bytes, for tests of code that reads or sends them."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from broker_lite.record.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.compression import Codec

Headers = Iterable[tuple[str, bytes | None]]


class NewRecord(NamedTuple):
    """A record to write."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    timestamp_ms: int | None = None


def make_batch(
    *records: bytes | str | tuple[Any, ...] | None,
    compression: str = "none",
    base_offset: int = 0,
    timestamp_ms: int = 0,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
) -> bytes:
    """Build a v2 record batch.

    Args:
        records: values, or tuples (value, key, headers, timestamp_ms), of which the later items may
            be left out; text becomes UTF-8.
        compression: none, gzip, snappy, lz4 or zstd.
        base_offset: of the first record.
        timestamp_ms: of records without a timestamp, since the epoch.
        producer_id: -1 for none, like the next two.
        producer_epoch: see producer_id.
        base_sequence: of the first record.
        is_transactional: needs a producer id.

    Returns:
        The bytes of the batch, as in files and in Produce and Fetch.
    """
    builder = BatchBuilder(
        base_offset=base_offset,
        codec=Codec[compression.upper()],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
    )
    for given in records:
        record = NewRecord(*given) if isinstance(given, tuple) else NewRecord(as_bytes(given))
        builder.append(
            timestamp_ms if record.timestamp_ms is None else record.timestamp_ms,
            as_bytes(record.key),
            as_bytes(record.value),
            [(name.encode(), as_bytes(value)) for name, value in record.headers],
        )
    return builder.build()


def as_bytes(value: bytes | str | None) -> bytes | None:
    """Encode text as UTF-8; return anything else unchanged."""
    return value.encode() if isinstance(value, str) else value
