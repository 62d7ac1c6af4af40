"""What the cleaner's rules leave of a batch."""

from collections.abc import Iterable

import pytest

from broker_lite.errors import InvalidRecord, UnknownServerError
from broker_lite.log.cleaner import survivors
from broker_lite.log.cleaner.survivors import LastRecord, NewestByKey, Round, compacted
from broker_lite.record.batch import RECORD_BATCH_OVERHEAD, RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.control import EndTransactionMarker, end_transaction_batch
from broker_lite.record.loops.key_map import KeyMap
from broker_lite.record.records import iterate_records, read_content
from tests.log.batches import batch as raw_batch
from tests.log.batches import record as raw_record
from tests.log.logs import T0

NOW_MS = T0 + 1_000_000
RETENTION_MS = 5000


def keys_of(offsets: Iterable[int]) -> KeyMap:
    """Let the records of batch() with these offsets be the newest of their keys."""
    keys = KeyMap(memoryview(bytearray(24 * 64)).cast("Q"), 1, 2)
    inside = set(offsets)
    for index in range(10):
        key = memoryview(b"k%d" % index)
        keys.put(key, 0, len(key), 10 + index if 10 + index in inside else 100)
    return keys


def round_of(
    survivors: Iterable[int] = (),
    *,
    discards: bool = False,
    last: LastRecord | None = None,
    end_offset: int = 1000,
    now_ms: int = NOW_MS,
) -> Round:
    return Round(
        lambda _: discards,
        NewestByKey(keys_of(survivors), 1000),
        lambda producer_id: last if producer_id == 7 else None,
        end_offset,
        now_ms,
        RETENTION_MS,
    )


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
    assert compacted(given, round_of((10, 11, 12), discards=True)) is None
    assert compacted(given, round_of((10, 11, 12))) == given.data


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(round_of(last=LastRecord(12, 3)), id="last of its producer"),
        pytest.param(round_of(end_offset=13), id="last of the round"),
        pytest.param(round_of((10, 11, 12), end_offset=13, discards=True), id="and aborted"),
    ],
)
def test_an_empty_batch_that_stays_s87_r16(given: Round) -> None:
    before = batch(producer_id=7, codec=1, delete_horizon_ms=NOW_MS + 1)
    found = left(before, given)
    assert (found.size_bytes, found.record_count) == (RECORD_BATCH_OVERHEAD, 0)
    assert (found.base_offset, found.last_offset, found.leader_epoch) == (10, 12, 2)
    assert (found.producer_id, found.producer_epoch, found.base_sequence) == (7, 3, 40)
    assert (found.base_timestamp, found.max_timestamp) == (-1, T0 + 2)
    assert (found.codec, found.has_delete_horizon) == (0, False)
    assert compacted(found, given) == found.data


@pytest.mark.parametrize("last", [LastRecord(13, 3), LastRecord(-1, 3), None])
def test_an_empty_batch_that_goes_s87(last: LastRecord | None) -> None:
    assert compacted(batch(producer_id=7), round_of(last=last)) is None
    assert compacted(batch(), round_of(last=LastRecord(12, 3))) is None


def marker(*, commit: bool = True, epoch: int = 3) -> RecordBatch:
    ending = EndTransactionMarker(commit, 0)
    return view(end_transaction_batch(7, epoch, ending, timestamp=T0, base_offset=10))


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_stays_with_its_transaction_s86(commit: bool) -> None:
    given = marker(commit=commit)
    assert compacted(given, round_of()) == given.data


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_without_a_transaction_has_a_horizon_s86_r91(commit: bool) -> None:
    found = left(marker(commit=commit), round_of(discards=True))
    assert found.delete_horizon_ms == NOW_MS + RETENTION_MS
    assert found.is_control
    assert compacted(found, round_of(discards=True)) == found.data
    assert compacted(found, round_of(discards=True, now_ms=NOW_MS + RETENTION_MS)) is None


def test_a_marker_with_the_newest_epoch_of_a_producer_stays_empty_s87() -> None:
    given = left(marker(), round_of(discards=True))
    late = NOW_MS + RETENTION_MS
    found = left(given, round_of(discards=True, last=LastRecord(-1, 3), now_ms=late))
    assert (found.is_control, found.record_count) == (True, 0)
    older = round_of(discards=True, last=LastRecord(-1, 4), now_ms=late)
    assert compacted(given, older) is None


def test_records_that_a_writer_would_write_otherwise_are_written_so_r32_r90() -> None:
    builder = BatchBuilder(base_offset=10)
    builder.append(T0, b"k0", b"0")
    builder.append(T0, b"k1", b"1", ((b"\xff\xfe", b"x"),))
    found = left(view(builder.build()), round_of((11,)))
    (record,) = iterate_records(found)
    assert record.headers == (("\ufffd\ufffd".encode(), b"x"),)
    assert (found.base_timestamp, found.last_offset) == (T0, 11)


def test_what_was_not_looked_at_stays_s84() -> None:
    given = batch()
    looked_at = round_of()._replace(newest=NewestByKey(keys_of(()), 10))
    assert kept(left(given, looked_at)) == [(11, T0 + 1, b"1"), (12, T0 + 2, b"2")]


def test_a_damaged_batch_is_told_r37() -> None:
    with pytest.raises(InvalidRecord):
        compacted(view(raw_batch(b"\x02")), round_of())
    with pytest.raises(InvalidRecord, match="99 records in 1 bytes"):
        compacted(view(raw_batch(b"\x02", count=99)), round_of())
    with pytest.raises(InvalidRecord, match="-1 records"):
        compacted(view(raw_batch(b"\x02", count=-1)), round_of())
    broken = bytearray(batch(codec=1).data)
    broken[-8:] = bytes(8)  # gzip's own checksum
    with pytest.raises(UnknownServerError, match="decompress"):
        compacted(view(broken), round_of())


def test_r90_records_whose_offsets_fall_are_refused() -> None:
    data = bytearray(raw_batch(raw_record(offset_delta=1) + raw_record(), count=2))
    found = RecordBatch(memoryview(data), 0, len(data))
    with pytest.raises(UnknownServerError, match="do not rise"):
        survivors._rebuilt(found, read_content(found), memoryview(b""), 2, None)
