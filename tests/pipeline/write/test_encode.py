"""R-50 to R-55: batches filled from columns are those of the builder."""

from array import array

import pytest

from broker_lite.pipeline.write import encode
from broker_lite.pipeline.write.encode import (
    SPARE_BYTES,
    BatchEncoder,
    EncodedBatch,
    KeptHeader,
    Producer,
)
from broker_lite.pipeline.write.record_input import record_input
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.compression import Codec
from broker_lite.record.records import iterate_records
from tests.pipeline.support import T0, NewRecord, numbered
from tests.pipeline.write_support import arrow, rows_of

PRODUCER = Producer(7, 3, 40, is_transactional=True)


def encoded(encoder: BatchEncoder, records: list[NewRecord]) -> list[tuple[EncodedBatch, bytes]]:
    """All batches, with their bytes as they were when they were handed on."""
    rows = rows_of(records)
    found = [(batch, bytes(batch.data)) for batch in encoder.append(rows, 0, rows.row_count)]
    if encoder.record_count:
        last = encoder.finish()
        found.append((last, bytes(last.data)))
    return found


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("append_time", [None, T0 + 99], ids=["CreateTime", "LogAppendTime"])
def test_r_51_a_batch_is_that_of_the_builder(codec: Codec, append_time: int | None) -> None:
    records = [*numbered(7), NewRecord(None, None, ((b"h", None), (b"i", b"v")), T0 - 5)]
    encoder = BatchEncoder(100, codec=codec, log_append_time_ms=append_time)
    rows = rows_of(records)
    assert list(encoder.append(rows, 0, rows.row_count)) == []
    batch = encoder.finish(PRODUCER)
    builder = BatchBuilder(
        base_offset=100,
        codec=codec,
        log_append_time_ms=append_time,
        producer_id=7,
        producer_epoch=3,
        base_sequence=40,
        is_transactional=True,
        leader_epoch=0,
    )
    for index, record in enumerate(records):
        given = record.timestamp_ms
        builder.append(
            T0 + index if given is None else given, record.key, record.value, record.headers
        )
    assert bytes(batch.data) == builder.build()
    assert batch[1:] == (100, 107, builder.max_timestamp, 8)


def test_r_55_batches_are_filled_and_follow_one_another() -> None:
    records = numbered(200)
    found = encoded(BatchEncoder(10, batch_bytes=1000), records)
    views = [RecordBatch(memoryview(data), 0, len(data)) for _, data in found]
    assert all(view.crc_is_valid() for view in views)
    assert all(900 < len(data) <= 1000 for _, data in found[:-1])
    assert [view.base_offset for view in views] == [
        10,
        *(batch.last_offset + 1 for batch, _ in found[:-1]),
    ]
    values = [bytes(record.value or b"") for view in views for record in iterate_records(view)]
    assert values == [record.value for record in records]


def test_a_batch_takes_rows_of_several_arrow_batches() -> None:
    encoder, records = BatchEncoder(0), numbered(9)
    for first in (0, 4):
        rows = rows_of(records[first : first + 4], first)
        assert list(encoder.append(rows, 0, 4)) == []
    batch = encoder.finish()
    assert (batch.last_offset, batch.record_count, batch.max_timestamp) == (7, 8, T0 + 7)


@pytest.mark.parametrize("size_bytes", [900, 1000, 20_000])
def test_r_55_a_large_record_is_a_batch_of_its_own(size_bytes: int) -> None:
    records = [*numbered(3), NewRecord(b"k", bytes(size_bytes)), *numbered(3)]
    found = encoded(BatchEncoder(0, batch_bytes=1000), records)
    counts = [batch.record_count for batch, _ in found]
    assert counts == [3, 1, 3]


def test_skipped_offsets_are_in_no_batch() -> None:
    encoder = BatchEncoder(0)
    encoder.skip(5)
    assert encoded(encoder, numbered(2))[0][0].base_offset == 5


def test_r_52_offsets_that_are_kept() -> None:
    far = 10 + (1 << 31)
    table = arrow(numbered(4)).append_column("offset", [10, 12, far, far + 1])
    rows = record_input(table, default_timestamp_ms=T0, keep_offsets=True)
    encoder = BatchEncoder(3)
    (first,) = [batch[1:3] for batch in encoder.append(rows, 0, 4)]
    assert first == (10, 12)
    assert encoder.finish()[1:3] == (far, far + 1)
    with pytest.raises(ValueError, match=r"row 0: offset 10 is not above"):
        list(encoder.append(rows, 0, 4))


def kept(base_offset: int, last_offset: int, record_count: int) -> KeptHeader:
    flags = (False, False, False)
    return KeptHeader(
        base_offset, last_offset, record_count, Codec.NONE, *flags, PRODUCER, 0, None, None
    )


def test_r_10_a_batch_with_its_header_grows_and_lets_go() -> None:
    records = numbered(3, value_bytes=SPARE_BYTES)
    table = arrow(records).append_column("offset", [5, 6, 7])
    rows = record_input(table, default_timestamp_ms=T0, keep_offsets=True)
    encoder, header = BatchEncoder(0, batch_bytes=1000), kept(4, 9, 3)
    encoder.begin(header, T0)
    encoder.fill(rows, 0, 2)
    encoder.fill(rows, 2, 3)
    batch = encoder.keep(header)
    view = RecordBatch(memoryview(bytes(batch.data)), 0, len(batch.data))
    assert (view.base_offset, view.last_offset, view.record_count) == (4, 9, 3)
    assert [record.offset for record in iterate_records(view)] == [5, 6, 7]
    assert view.crc_is_valid()
    encoder.shrink()
    encoder.begin(kept(10, 12, 0), -1)
    emptied = RecordBatch(memoryview(bytes(encoder.keep(kept(10, 12, 0)).data)), 0, 61)
    assert (emptied.record_count, emptied.last_offset, emptied.base_timestamp) == (0, 12, -1)
    with pytest.raises(ValueError, match="it begins below 13"):
        encoder.begin(kept(12, 12, 1), T0)


def test_r_84_no_batch_is_larger_than_what_a_reader_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encode, "KEPT_BYTES_MAX", 50_000)
    records = numbered(2, value_bytes=25_000)
    rows = record_input(arrow(records), default_timestamp_ms=T0, keep_offsets=False)
    rows = rows._replace(offsets=memoryview(array("q", range(2))))
    encoder = BatchEncoder(0)
    encoder.begin(kept(0, 1, 2), T0)
    with pytest.raises(ValueError, match="take more than"):
        encoder.fill(rows, 0, 2)
