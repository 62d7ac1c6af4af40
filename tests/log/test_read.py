"""F-05, F-10 to F-14, S-20 to S-22: which bytes a fetch gets."""

import errno
import os
import random
from functools import partial
from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.config import LogConfig
from broker_lite.log.files.txn_index import AbortedTransaction, TransactionIndex
from broker_lite.log.log import Log
from broker_lite.log.read import aborted_within, read_log
from tests.log.logs import (
    FOREVER_MS,
    T0,
    append,
    batch_bytes,
    content,
    end_transaction,
    open_log,
)
from tests.support.disk import Disk

SIZE = len(batch_bytes())


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """Ten batches of 1 to 3 records, three batches a segment, an index entry for most."""
    config = LogConfig(segment_bytes=260, index_interval_bytes=0, segment_ms=FOREVER_MS)
    log = open_log(tmp_path, config)
    for number in range(10):
        append(log, *[T0 + number] * (number % 3 + 1))
    return log


def first_offset(data: bytes) -> int:
    return int.from_bytes(data[:8], "big")


@pytest.mark.parametrize("reload", [False, True], ids=["as written", "from the files"])
def test_s20_every_offset_is_found(log: Log, reload: bool) -> None:
    """S-20, S-21, F-10, F-12: the batch that holds it, whole, to the segment's end."""
    if reload:
        log.close()
        log = open_log(Path(log.directory), log.config)
    bases = [first for number in range(10) for first in [sum(i % 3 + 1 for i in range(number))]]
    for offset in range(log.log_end_offset):
        read = read_log(log, offset, max_bytes=1 << 20)
        data = content(read)
        assert first_offset(data) == max(base for base in bases if base <= offset)
        segment = log.segments.holding(offset)
        assert read.slice is not None
        assert read.slice.position + read.slice.size_bytes == segment.size_bytes
        log.segments.active.recent.clear()


@pytest.mark.parametrize("offset", [-1, 20], ids=["below", "above"])
def test_f05_offsets_outside(log: Log, offset: int) -> None:
    with pytest.raises(errors.OffsetOutOfRange):
        read_log(log, offset, max_bytes=100)


def test_f05_negative_size(log: Log) -> None:
    with pytest.raises(errors.UnknownServerError):
        read_log(log, 0, max_bytes=-1)


def test_f10_at_the_end_nothing_and_no_error(log: Log) -> None:
    end = log.log_end_offset
    assert read_log(log, end, max_bytes=100) == (None, end, end, 0, None)
    assert read_log(log, end, max_bytes=100, isolation_level=1) == (None, end, end, 0, [])


@pytest.mark.parametrize(
    ("max_bytes", "min_one_batch", "size_bytes"),
    [
        pytest.param(0, True, SIZE, id="F-11 first batch whole, 0"),
        pytest.param(1, True, SIZE, id="F-11 first batch whole, 1"),
        pytest.param(SIZE + 1, True, SIZE + 1, id="F-11 partial second batch"),
        pytest.param(0, False, 0, id="F-11 nothing"),
        pytest.param(SIZE - 1, False, 0, id="F-11 no fragment"),
        pytest.param(SIZE, False, SIZE, id="F-11 exactly one"),
        pytest.param(9999, False, 4 * SIZE, id="F-11 everything"),
    ],
)
@pytest.mark.parametrize("found", ["at the end", "by the index", "in a file that was loaded"])
def test_f11_sizes(
    tmp_path: Path, max_bytes: int, min_one_batch: bool, size_bytes: int, found: str
) -> None:
    log = open_log(tmp_path)
    for _ in range(4):
        append(log)
    if found == "by the index":
        log.segments.active.recent.clear()
    elif found == "in a file that was loaded":
        log.close()
        log = open_log(tmp_path)
    read = read_log(log, 0, max_bytes=max_bytes, min_one_batch=min_one_batch)
    assert len(content(read)) == size_bytes


def test_f11_min_one_batch_inside_a_batch_found_by_the_index(log: Log) -> None:
    log.segments.active.recent.clear()
    read = read_log(log, 4, max_bytes=1)
    assert first_offset(content(read)) == 3
    assert len(content(read)) == len(batch_bytes(T0, T0, T0))


def test_f13_the_limit_may_lie_in_this_segment_or_a_later_one(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(segment_bytes=3 * SIZE, segment_ms=FOREVER_MS))
    for _ in range(4):
        append(log)
    append(log, producer=(7, 0, 0), transactional=True)
    append(log)
    assert log.last_stable_offset == 4
    sizes = [
        len(content(read_log(log, offset, max_bytes=9999, isolation_level=1))) // SIZE
        for offset in (0, 3)
    ]
    assert sizes == [3, 1]
    log.segments.active.recent.clear()
    assert len(content(read_log(log, 3, max_bytes=9999, isolation_level=1))) == SIZE
    assert read_log(log, 4, max_bytes=9999, isolation_level=1).slice is None


def test_f14_the_list_goes_on_until_the_bound_is_stable(tmp_path: Path) -> None:
    """F-14: from the read segment on, by the index's bound, the next base, or the end."""
    log = open_log(tmp_path, LogConfig(segment_bytes=200, index_interval_bytes=0))
    for number in range(6):
        append(log, producer=(7, 0, number), transactional=True)
        end_transaction(log, 7, commit=number == 5, now_ms=T0)
    expected = [(7, 2 * i, 2 * i + 1, 2 * i + 2) for i in range(5)]
    for offset in range(12):
        read = read_log(log, offset, max_bytes=1, isolation_level=1)
        got = read.aborted_transactions
        assert got is not None
        assert got == [e for e in expected if e[2] >= offset and e in got]
        batch_end = offset + 1
        assert all(e in got for e in expected if e[2] >= offset and e[1] < batch_end)


def test_f14_where_the_list_ends(tmp_path: Path) -> None:
    """F-14: a first offset or a last stable offset that equals the upper bound is outside."""
    log = open_log(tmp_path)
    for _ in range(4):
        append(log)
    within, outside = AbortedTransaction(1, 0, 1, 3), AbortedTransaction(2, 4, 2, 3)
    last, behind = AbortedTransaction(3, 3, 3, 4), AbortedTransaction(4, 0, 4, 5)
    for entry in (within, outside, last, behind):
        log.segments.active.transaction_index.append(entry)
    assert read_log(log, 0, max_bytes=9999, isolation_level=1).aborted_transactions == [
        within,
        last,
    ]
    assert read_log(log, 1, max_bytes=9999, isolation_level=1).aborted_transactions == [
        within,
        last,
    ]
    assert read_log(log, 2, max_bytes=9999, isolation_level=1).aborted_transactions == [last]


def test_f14_the_list_for_some_of_the_batches(tmp_path: Path) -> None:
    """A transaction is listed in the segment of its marker, which may be a later one."""
    log = open_log(tmp_path, LogConfig(segment_bytes=2 * SIZE))
    for _ in range(8):
        append(log)
    one, other = AbortedTransaction(1, 0, 1, 2), AbortedTransaction(2, 3, 6, 7)
    log.segments.holding(1).transaction_index.append(one)
    log.segments.holding(6).transaction_index.append(other)
    assert log.segments.holding(3) is not log.segments.holding(6)
    assert read_log(log, 0, max_bytes=9999, isolation_level=1).aborted_transactions == [one]
    without = read_log(log, 0, max_bytes=9999, isolation_level=1, with_aborted=False)
    assert (without.slice is None, without.aborted_transactions) == (False, None)
    assert aborted_within(log, 0, 0) == aborted_within(log, 1, 2) == [one]
    assert aborted_within(log, 1, 3) == [one, other]
    assert aborted_within(log, 2, 2) == aborted_within(log, 7, 7) == []
    assert aborted_within(log, 4, 4) == aborted_within(log, 6, 7) == [other]


def test_f14_the_list_cannot_be_read(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    active = log.segments.active
    index = TransactionIndex(f"{log.directory}/none.txnindex", exists=True)
    monkeypatch.setattr(active, "transaction_index", index)
    with pytest.raises(errors.KafkaStorageError):
        aborted_within(log, active.base_offset, log.log_end_offset)
    monkeypatch.setattr(active, "transaction_index", Unopened())
    assert aborted_within(log, active.base_offset, log.log_end_offset) is None


class Unopened:
    """An index that finds no descriptor."""

    def entries(self) -> list[AbortedTransaction]:
        raise OSError(errno.EMFILE, "too many open files")


@pytest.mark.parametrize(
    ("max_bytes", "isolation_level", "aborted"), [(0, 1, []), (50, 1, None), (0, 0, None)]
)
def test_f06_a_list_although_there_is_no_room(
    log: Log, max_bytes: int, isolation_level: int, aborted: list[AbortedTransaction] | None
) -> None:
    """F-06, as a Kafka 4.3.1 answers for a second partition, by what the first one left."""
    read = read_log(
        log, 0, max_bytes=max_bytes, isolation_level=isolation_level, min_one_batch=False
    )
    assert (read.slice, read.aborted_transactions) == (None, aborted)


def test_a_gap_leads_to_the_next_segment(tmp_path: Path) -> None:
    """S-20 step 4: offsets that compaction took away."""
    log = open_log(tmp_path, LogConfig(segment_bytes=100))
    append(log)
    log.log_end_offset = 5
    append(log)
    assert first_offset(content(read_log(log, 3, max_bytes=999))) == 5
    log.log_end_offset = log.visibility.high_watermark = 9
    assert read_log(log, 7, max_bytes=999).slice is None


@pytest.mark.parametrize("segment_bytes", [100, 1000], ids=["next segment", "same segment"])
def test_f13_the_next_batch_may_be_behind_the_limit(tmp_path: Path, segment_bytes: int) -> None:
    log = open_log(tmp_path, LogConfig(segment_bytes=segment_bytes))
    append(log)
    log.log_end_offset = 5
    append(log, producer=(7, 0, 0), transactional=True)
    for level, size_bytes in ((0, SIZE), (1, 0)):
        assert len(content(read_log(log, 3, max_bytes=999, isolation_level=level))) == size_bytes


def test_files_that_cannot_be_read(log: Log, tmp_path: Path) -> None:
    log.segments.all[0].mark_deleted()
    with pytest.raises(errors.KafkaStorageError):
        read_log(log, 0, max_bytes=100)


def test_f11_without_a_free_descriptor_there_is_nothing_for_now(log: Log, disk: Disk) -> None:
    """Too many ranges are being sent; other errors of the disk are told."""
    before = read_log(log, 0, max_bytes=9999, isolation_level=1)
    for number in (errno.EMFILE, errno.EIO):
        log.segments.cache.discard_directory(log.directory)
        disk.answer("open", partial(_refuse, number))
        if number == errno.EMFILE:
            assert read_log(log, 0, max_bytes=9999, isolation_level=1) == before._replace(
                slice=None
            )
            assert read_log(log, 0, max_bytes=9999).aborted_transactions is None
        else:
            with pytest.raises(errors.KafkaStorageError):
                read_log(log, 0, max_bytes=9999)
        disk.mend()


def _refuse(number: int, *_: object) -> int:
    raise OSError(number, os.strerror(number))


def test_a_slice_outlives_its_log(log: Log) -> None:
    """F-15, S-54: the range is fixed and readable, whatever happens to the log."""
    read = read_log(log, log.segments.active.base_offset, max_bytes=9999)
    before = content(read)
    append(log)
    directory = Path(log.directory)
    log.delete()
    for path in directory.iterdir():
        path.unlink()
    assert content(read) == before


def test_a_sequential_reader_sees_everything_once(tmp_path: Path) -> None:
    """S-22, with sizes at random; as a consumer goes on after the last whole batch."""
    rng = random.Random(4)
    log = open_log(tmp_path, LogConfig(segment_bytes=4000, index_interval_bytes=300))
    written = b""
    for number in range(200):
        append(log, T0 + number, value=b"x" * rng.randrange(120))
    written = b"".join(Path(segment.path).read_bytes() for segment in log.segments.all)
    seen, offset = b"", 0
    while offset < log.log_end_offset:
        data = content(read_log(log, offset, max_bytes=rng.randrange(700)))
        while len(data) >= 12 and len(data) >= 12 + int.from_bytes(data[8:12], "big"):
            size_bytes = 12 + int.from_bytes(data[8:12], "big")
            seen += data[:size_bytes]
            data = data[size_bytes:]
            offset += 1
    assert seen == written


def test_c60_a_reader_of_a_follower_reads_to_its_end(log: Log) -> None:
    at_its_end = read_log(log, 4, max_bytes=9999, replica_end=4)
    assert content(at_its_end) == b""
    with pytest.raises(errors.OffsetOutOfRange):
        read_log(log, 5, max_bytes=9999, replica_end=4)
