"""The rules of the broker's cleaner, asked by offsets."""

from collections.abc import Iterable

import pytest

from broker_lite.log.cleaner.survivors import Round, compacted
from broker_lite.log.producers.entry import BatchMetadata, ProducerEntry
from broker_lite.pipeline.compact.round import offline_round
from broker_lite.pipeline.compact.survivors import BUCKET_OFFSETS, OffsetSet
from broker_lite.pipeline.read.transactions import AbortedRanges
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.control import EndTransactionMarker, end_transaction_batch
from broker_lite.record.emptied import emptied
from broker_lite.record.records import iterate_records
from tests.pipeline.support import T0

NOW_MS = T0 + 1_000_000
FIRST = BUCKET_OFFSETS - 2  # a batch reaches over the end of a bucket


def offsets(inside: Iterable[int]) -> OffsetSet:
    buckets: dict[int, bytearray] = {}
    for offset in inside:
        bits = buckets.setdefault(offset // BUCKET_OFFSETS, bytearray(BUCKET_OFFSETS // 8))
        bits[offset % BUCKET_OFFSETS // 8] |= 1 << offset % 8
    return OffsetSet({number: bytes(bits) for number, bits in buckets.items()})


def round_of(
    survivors: Iterable[int] = (),
    *,
    emptied_markers: Iterable[int] = (),
    aborted: Iterable[tuple[int, int, int]] = (),
    producers: Iterable[ProducerEntry] = (),
) -> Round:
    ranges = AbortedRanges()
    for one in aborted:
        ranges.add(*one)
    return offline_round(
        survivors=offsets(survivors),
        emptied_markers=offsets(emptied_markers),
        aborted=ranges,
        producers={entry.producer_id: entry for entry in producers},
        end_offset=10 * BUCKET_OFFSETS,
        now_ms=NOW_MS,
        delete_retention_ms=5000,
    )


def view(data: bytes | bytearray) -> RecordBatch:
    return RecordBatch(memoryview(data), 0, len(data))


def batch(producer_id: int = -1, *, codec: int = 0) -> RecordBatch:
    builder = BatchBuilder(
        base_offset=FIRST,
        codec=codec,
        producer_id=producer_id,
        producer_epoch=-1 if producer_id < 0 else 3,
        base_sequence=-1 if producer_id < 0 else 40,
        is_transactional=producer_id >= 0,
    )
    for index in range(4):
        builder.append(T0 + index, b"k", b"%d" % index)
    return view(builder.build())


def producer(*, epoch: int = 3, last_offset: int | None = None) -> ProducerEntry:
    entry = ProducerEntry(7, epoch=epoch)
    if last_offset is not None:
        entry.add_batch(BatchMetadata(0, 0, last_offset, 0, T0))
    return entry


@pytest.mark.parametrize("codec", range(5))
def test_records_stay_by_their_offsets_s84(codec: int) -> None:
    given = batch(codec=codec)
    left = compacted(given, round_of((FIRST + 1, FIRST + 2)))
    assert isinstance(left, bytes)
    found = [record.value for record in iterate_records(view(left))]
    assert found == [b"1", b"2"]
    assert compacted(given, round_of(range(FIRST, FIRST + 4))) == given.data
    assert compacted(given, round_of((FIRST - 1, FIRST + 4))) is None


def test_an_aborted_batch_goes_s86() -> None:
    given = batch(7)
    every = range(FIRST, FIRST + 4)
    assert compacted(given, round_of(every, aborted=[(7, FIRST, FIRST + 9)])) is None
    assert compacted(given, round_of(every, aborted=[(8, FIRST, FIRST + 9)])) == given.data


def test_a_marker_without_a_transaction_has_a_horizon_s86() -> None:
    ending = EndTransactionMarker(True, 0)
    marker = view(end_transaction_batch(7, 3, ending, timestamp=T0, base_offset=FIRST))
    assert compacted(marker, round_of()) == marker.data
    left = compacted(marker, round_of(emptied_markers=(FIRST,)))
    assert isinstance(left, bytes)
    assert view(left).delete_horizon_ms == NOW_MS + 5000
    bare = view(emptied(marker))
    assert compacted(bare, round_of()) is None
    assert compacted(bare, round_of(producers=[producer()])) == bare.data


def test_the_last_batch_of_a_producer_stays_empty_s87() -> None:
    given = batch(7)
    known = [producer(last_offset=FIRST + 3)]
    assert compacted(given, round_of(producers=known)) == emptied(given)
    assert compacted(given, round_of(producers=[producer(last_offset=FIRST + 9)])) is None
    assert compacted(given, round_of(producers=[producer()])) is None
