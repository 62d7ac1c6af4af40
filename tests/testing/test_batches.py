"""Batches for tests, read back."""

import pytest

from broker_lite.record.batch import RecordBatch
from broker_lite.record.codecs.compression import Codec
from broker_lite.record.records import iterate_records
from broker_lite.testing import make_batch


def read(data: bytes) -> RecordBatch:
    batch = RecordBatch(memoryview(bytearray(data)), 0, len(data))
    batch.ensure_valid()
    return batch


@pytest.mark.parametrize("codec", [codec.name.lower() for codec in Codec])
def test_what_is_written_is_read(codec: str) -> None:
    batch = read(
        make_batch(
            b"value",
            None,
            ("text", "key", [("h", b"1"), ("n", None)], 7),
            (None, b"k"),
            compression=codec,
            base_offset=10,
            timestamp_ms=5,
        )
    )
    assert batch.codec == Codec[codec.upper()]
    assert [record[:5] for record in iterate_records(batch)] == [
        (10, 5, None, b"value", ()),
        (11, 5, None, None, ()),
        (12, 7, b"key", b"text", ((b"h", b"1"), (b"n", None))),
        (13, 5, b"k", None, ()),
    ]


def test_a_producers_batch() -> None:
    data = make_batch(b"x", producer_id=4, producer_epoch=2, base_sequence=9, is_transactional=True)
    batch = read(data)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (4, 2, 9)
    assert batch.is_transactional
