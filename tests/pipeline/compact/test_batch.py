"""What the cleaner's rules leave of a batch."""

from collections.abc import Iterable

import pytest

from broker_lite.log.producer_entry import BatchMetadata, ProducerEntry
from broker_lite.pipeline.compact.batch import Round, compacted
from broker_lite.pipeline.compact.survivors import BUCKET_OFFSETS, OffsetSet
from broker_lite.pipeline.read.transactions import AbortedRanges
from broker_lite.record.batch import RECORD_BATCH_OVERHEAD, RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.control import EndTransactionMarker, end_transaction_batch
from broker_lite.record.records import iterate_records
from tests.pipeline.support import T0

NOW_MS = T0 + 1_000_000
RETENTION_MS = 5000


def offsets(inside: Iterable[int]) -> OffsetSet:
    bits = bytearray(BUCKET_OFFSETS // 8)
    for offset in inside:
        bits[offset // 8] |= 1 << offset % 8
    return OffsetSet({0: bytes(bits)})


def round_of(
    survivors: Iterable[int] = (),
    *,
    emptied: Iterable[int] = (),
    aborted: Iterable[tuple[int, int, int]] = (),
    producers: Iterable[ProducerEntry] = (),
    end_offset: int = 1000,
    now_ms: int = NOW_MS,
) -> Round:
    ranges = AbortedRanges()
    for one in aborted:
        ranges.add(*one)
    known = {entry.producer_id: entry for entry in producers}
    return Round(
        offsets(survivors), offsets(emptied), ranges, known, end_offset, now_ms, RETENTION_MS
    )


def producer(producer_id: int, *, epoch: int = 0, last_offset: int | None = None) -> ProducerEntry:
    entry = ProducerEntry(producer_id, epoch=epoch)
    if last_offset is not None:
        entry.add_batch(BatchMetadata(0, 0, last_offset, 0, T0))
    return entry


def batch(
    values: Iterable[bytes | None] = (b"0", b"1", b"2"),
    *,
    codec: int = 0,
    producer_id: int = -1,
    is_transactional: bool = False,
    log_append_time_ms: int | None = None,
    delete_horizon_ms: int | None = None,
) -> RecordBatch:
    """Records from offset 10 on."""
    builder = BatchBuilder(
        base_offset=10,
        codec=codec,
        producer_id=producer_id,
        producer_epoch=-1 if producer_id < 0 else 3,
        base_sequence=-1 if producer_id < 0 else 40,
        is_transactional=is_transactional,
        log_append_time_ms=log_append_time_ms,
        leader_epoch=2,
        delete_horizon_ms=delete_horizon_ms,
    )
    for index, value in enumerate(values):
        builder.append(T0 + index, b"k%d" % index, value, ((b"h", None),))
    return view(builder.build())


def view(data: bytes | bytearray | memoryview) -> RecordBatch:
    return RecordBatch(memoryview(data), 0, len(data))


def left(batch: RecordBatch, given: Round) -> RecordBatch:
    data = compacted(batch, given)
    assert data is not None
    found = view(data)
    assert found.crc_is_valid()
    return found


def kept(batch: RecordBatch) -> list[tuple[int, int, bytes | None]]:
    return [(one.offset, one.timestamp, one.value) for one in iterate_records(batch)]


def test_a_batch_of_survivors_stays_byte_for_byte_s88() -> None:
    given = batch(codec=4)
    assert compacted(given, round_of((10, 11, 12))) == given.data


@pytest.mark.parametrize("codec", range(5))
def test_a_batch_is_rebuilt_r90(codec: int) -> None:
    given = batch(codec=codec, producer_id=7)
    found = left(given, round_of((11,)))
    assert kept(found) == [(11, T0 + 1, b"1")]
    assert found.codec == codec
    assert (found.base_offset, found.last_offset, found.record_count) == (10, 12, 1)
    assert (found.producer_id, found.producer_epoch, found.base_sequence) == (7, 3, 40)
    assert (found.leader_epoch, found.last_sequence) == (2, 42)
    assert not found.has_delete_horizon


def test_log_append_time_stays_r90() -> None:
    found = left(batch(log_append_time_ms=T0 + 99), round_of((10,)))
    assert found.is_log_append_time
    assert (found.max_timestamp, kept(found)) == (T0 + 99, [(10, T0 + 99, b"0")])


def test_nothing_is_left_s84() -> None:
    assert compacted(batch(), round_of()) is None


def test_a_tombstone_gets_its_horizon_r91() -> None:
    given = batch((b"0", None))
    found = left(given, round_of((10, 11)))
    assert found.delete_horizon_ms == NOW_MS + RETENTION_MS
    assert kept(found) == [(10, T0, b"0"), (11, T0 + 1, None)]


@pytest.mark.parametrize(
    ("now_ms", "expected"),
    [(NOW_MS - 1, [(10, T0, b"0"), (11, T0 + 1, None)]), (NOW_MS, [(10, T0, b"0")])],
)
def test_a_tombstone_goes_at_its_horizon_s84_s85(
    now_ms: int, expected: list[tuple[int, int, bytes | None]]
) -> None:
    given = batch((b"0", None), delete_horizon_ms=NOW_MS)
    found = left(given, round_of((10, 11), now_ms=now_ms))
    assert kept(found) == expected
    assert found.delete_horizon_ms == NOW_MS  # that of the first time


def test_an_aborted_batch_goes_s86() -> None:
    given = batch(producer_id=7, is_transactional=True)
    assert compacted(given, round_of((10, 11, 12), aborted=[(7, 10, 20)])) is None
    assert compacted(given, round_of((10, 11, 12), aborted=[(8, 10, 20)])) == given.data


@pytest.mark.parametrize(
    ("given", "entry"),
    [
        pytest.param(
            batch(producer_id=7), producer(7, epoch=3, last_offset=12), id="last of its producer"
        ),
        pytest.param(batch(producer_id=7), None, id="last of the round"),
    ],
)
def test_an_empty_batch_that_stays_s87_r16(given: RecordBatch, entry: ProducerEntry | None) -> None:
    arguments = (
        round_of(producers=[entry]) if entry is not None else round_of(end_offset=given.next_offset)
    )
    found = left(given, arguments)
    assert (found.size_bytes, found.record_count) == (RECORD_BATCH_OVERHEAD, 0)
    assert (found.base_offset, found.last_offset, found.leader_epoch) == (10, 12, 2)
    assert (found.producer_id, found.producer_epoch, found.base_sequence) == (7, 3, 40)
    assert (found.base_timestamp, found.max_timestamp) == (-1, T0 + 2)
    assert compacted(found, arguments) == found.data


@pytest.mark.parametrize(
    "entry", [producer(7, last_offset=13), producer(7), producer(8, last_offset=12)]
)
def test_an_empty_batch_that_goes_s87(entry: ProducerEntry) -> None:
    assert compacted(batch(producer_id=7), round_of(producers=[entry])) is None


def marker(*, commit: bool = True, epoch: int = 3) -> RecordBatch:
    ending = EndTransactionMarker(commit, 0)
    return view(end_transaction_batch(7, epoch, ending, timestamp=T0, base_offset=10))


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_stays_with_its_transaction_s86(commit: bool) -> None:
    given = marker(commit=commit)
    assert compacted(given, round_of()) == given.data


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_without_a_transaction_has_a_horizon_s86(commit: bool) -> None:
    found = left(marker(commit=commit), round_of(emptied=(10,)))
    assert found.delete_horizon_ms == NOW_MS + RETENTION_MS
    assert found.is_control
    assert compacted(found, round_of(emptied=(10,))) == found.data
    assert compacted(found, round_of(emptied=(10,), now_ms=NOW_MS + RETENTION_MS)) is None


def test_a_marker_with_the_newest_epoch_of_a_producer_stays_empty_s87() -> None:
    given = left(marker(), round_of(emptied=(10,)))
    late = NOW_MS + RETENTION_MS
    found = left(given, round_of(emptied=(10,), producers=[producer(7, epoch=3)], now_ms=late))
    assert (found.is_control, found.record_count) == (True, 0)
    older = round_of(emptied=(10,), producers=[producer(7, epoch=4)], now_ms=late)
    assert compacted(given, older) is None
