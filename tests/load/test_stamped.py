"""Batches that are filled in again and again, and stamps that come back."""

import random

import pytest

from broker_lite.load.content import make_batches, random_values
from broker_lite.load.stamped import STAMP_BYTES, Batch, Filler, Producer, Stamp, stamp_in
from broker_lite.record.batch import RecordBatch, parse_header
from broker_lite.record.codecs.compression import Codec

RUN = b"run-id-8"


def batch_of(codec: Codec = Codec.NONE, *, is_stamped: bool = True) -> Batch:
    return make_batches(
        random_values(50, 0.5, 1),
        batch_bytes=2000,
        codec=codec,
        timestamp_ms=1000,
        is_stamped=is_stamped,
    )[0]


def sent(batch: Batch, producer: Producer | None, sequence: int, stamp: bytes = b"") -> bytes:
    return b"".join(Filler(batch).fill(producer, sequence, stamp))


@pytest.mark.parametrize("codec", list(Codec))
def test_a_stamp_comes_back(codec: Codec) -> None:
    batch, stamp = batch_of(codec), Stamp(RUN, 2**40, 2**60 + 1)
    data = sent(batch, None, -1, stamp.encode())
    view = RecordBatch(memoryview(data), 0, len(data))
    assert view.crc_is_valid
    assert view.attributes & 7 == codec
    assert stamp_in(memoryview(data)) == stamp


def test_only_the_begin_of_the_first_value_changes() -> None:
    batch = batch_of()
    data = sent(batch, None, -1, bytes(STAMP_BYTES))
    begin, end = batch.stamp_end - STAMP_BYTES, batch.stamp_end
    assert data[begin:end] == bytes(STAMP_BYTES)
    assert data[61:begin] + data[end:] == batch.data[61:begin] + batch.data[end:]
    assert len(data) == len(batch.data)


def test_producer_and_sequence() -> None:
    batch = batch_of(is_stamped=False)
    data = sent(batch, Producer(2**50, 3), 2**31 - 1)
    assert RecordBatch(memoryview(data), 0, len(data)).crc_is_valid
    header = parse_header(data)
    assert (header.producer_id, header.producer_epoch) == (2**50, 3)
    assert (header.base_sequence, header.record_count) == (2**31 - 1, batch.records)


def test_batches_of_others_have_no_stamp() -> None:
    """Whatever a broker sends: a stamp or none, and never an error."""
    data = sent(batch_of(Codec.LZ4), None, -1, Stamp(RUN, 1, 2).encode())
    source = random.Random(1)
    for _ in range(2000):
        damaged = bytearray(data)
        for _ in range(source.randint(1, 3)):
            damaged[source.randrange(16, len(damaged))] = source.getrandbits(8)
        assert isinstance(stamp_in(memoryview(damaged)), Stamp | None)
    for size in range(len(data)):
        assert stamp_in(memoryview(data)[:size]) in (None, Stamp(RUN, 1, 2))
