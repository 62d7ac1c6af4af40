"""F-16: the batches of a canned run are right in themselves, and the same each time."""

import pytest

from broker_lite.record.batch import ATTRIBUTES_OFFSET, RECORD_BATCH_OVERHEAD, RecordBatch
from broker_lite.record.canned import START_MS, CannedShape, canned_batches
from broker_lite.record.codecs.compression import Codec
from broker_lite.record.crc import crc32c
from broker_lite.record.records import Record, iterate_records

EMPTY = CannedShape(batch_records=60_000, record_bytes=0)


def records_of(shape: CannedShape) -> list[Record]:
    """All records of the whole batches; headers, checksums and numbers are checked."""
    found: list[Record] = []
    batches = [*canned_batches(shape)]
    for number, data in enumerate(batches[: shape.batch_count]):
        batch = RecordBatch(data, 0, len(data))
        assert batch.codec == shape.codec
        assert batch.crc == crc32c(data[ATTRIBUTES_OFFSET:])
        assert (batch.base_offset, batch.record_count) == (0, shape.batch_records)
        assert batch.last_offset_delta == shape.batch_records - 1
        first_ms = START_MS + number * shape.batch_records
        assert batch.base_timestamp == first_ms
        assert batch.max_timestamp == first_ms + shape.batch_records - 1
        assert batch.producer_id == -1
        records = [*iterate_records(batch)]
        assert [each.offset for each in records] == [*range(shape.batch_records)]
        found += records
    assert [each.timestamp for each in found] == [*range(START_MS, START_MS + len(found))]
    return found


@pytest.mark.parametrize("codec", Codec)
def test_f16_every_codec(codec: Codec) -> None:
    shape = CannedShape(1000, 1000, 0, codec, 0.5)
    records = records_of(shape)
    assert len(records) == shape.record_count == 8000
    assert {each.key for each in records} == {None}
    assert {len(each.value or b"") for each in records} == {1000}
    assert len({each.value for each in records}) == 8000


def test_f16_keys_follow_each_other_in_turn() -> None:
    records = records_of(CannedShape(1000, 1000, 300))
    keys = [each.key for each in records]
    assert len({*keys[:300]}) == 300
    assert {len(key or b"") for key in keys} == {16}
    assert keys[300:] == keys[: len(keys) - 300]


def test_f16_empty_values_and_all_random_ones() -> None:
    assert {each.value for each in records_of(EMPTY)[:100]} == {b""}
    random_records = records_of(CannedShape(10_000, 100, 0, Codec.NONE, 1.0))
    assert len({each.value for each in random_records}) == len(random_records)


def test_f16_the_share_of_random_bytes_decides_how_well_codecs_work() -> None:
    def compressed_share(random_share: float) -> float:
        shape = CannedShape(1000, 1000, 0, Codec.ZSTD, random_share)
        return sum(map(len, canned_batches(shape))) / (shape.record_count * 1000)

    little, half, whole = map(compressed_share, (0.0, 0.5, 1.0))
    assert little < 0.2
    assert 0.5 < half < 0.7
    assert 0.99 < whole < 1.05


def test_f16_the_tail_has_the_first_records() -> None:
    shape = CannedShape(1000, 1000, 7, Codec.LZ4, 0.1)
    *whole, tail = canned_batches(shape._replace(tail_records=5))
    assert [*map(bytes, whole)] == [*map(bytes, canned_batches(shape))]
    first = [*iterate_records(RecordBatch(whole[0], 0, len(whole[0])))][:5]
    batch = RecordBatch(tail, 0, len(tail))
    assert batch.record_count == 5
    assert [(r.key, r.timestamp, (r.value or b"")[:800]) for r in iterate_records(batch)] == [
        (r.key, r.timestamp, (r.value or b"")[:800]) for r in first
    ]


def test_f16_a_batch_of_one_record() -> None:
    shape = CannedShape(1, 10)
    batches = [*canned_batches(shape)]
    assert len(batches) == shape.batch_count == 4096
    assert all(len(each) > RECORD_BATCH_OVERHEAD for each in batches)
