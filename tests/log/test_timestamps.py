"""S-23, S-24, F-72, F-74: offsets by timestamp."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from broker_lite import errors
from broker_lite.log import timestamps
from broker_lite.log.config import LogConfig
from broker_lite.log.log import Log
from broker_lite.record.codecs.decompressed import UNBOUNDED
from broker_lite.record.legacy.message_builder import encode_message
from tests.log.batches import batch, record
from tests.log.logs import FOREVER_MS, NOW_MS, T0, append, batch_bytes, open_log, validated


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """Offsets 0 to 8 in three segments; timestamps are T0 plus 0 2 1 | 10 5 7 | 20 20 15."""
    log = open_log(tmp_path, LogConfig(index_interval_bytes=0, segment_ms=FOREVER_MS))
    for batches in (((0, 2), (1,)), ((10,), (5, 7)), ((20, 20), (15,))):
        if log.log_end_offset:
            log.roll(NOW_MS)
        for times in batches:
            append(log, *[T0 + time for time in times], codec=1)
    return log


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (-5, (0, 0)),
        (0, (0, 0)),
        (1, (2, 1)),
        (2, (2, 1)),
        (3, (10, 3)),
        (6, (10, 3)),
        (11, (20, 6)),
    ],
)
def test_s23_the_first_record_of_the_first_segment_that_reaches_it(
    log: Log, time: int, expected: tuple[int, int]
) -> None:
    for current in (log, _reloaded(log)):
        assert timestamps.offset_for_timestamp(current, T0 + time) == (
            T0 + expected[0],
            expected[1],
            0,
        )


def _reloaded(log: Log) -> Log:
    log.close()
    return open_log(Path(log.directory), log.config)


def test_s23_nothing_is_young_enough(log: Log) -> None:
    assert timestamps.offset_for_timestamp(log, T0 + 21) is None


def test_s23_the_log_start_counts_inside_a_batch(log: Log) -> None:
    log.delete_records_before(1)
    assert timestamps.offset_for_timestamp(log, T0) == (T0 + 2, 1, 0)
    log.delete_records_before(2)
    assert timestamps.offset_for_timestamp(log, T0) == (T0 + 1, 2, 0)
    # The segment reaches the timestamp, though no record of it that is left does.
    assert timestamps.offset_for_timestamp(log, T0 + 2) is None


def test_s24_the_largest_timestamp(log: Log) -> None:
    assert timestamps.max_timestamp_offset(log) == (T0 + 20, 6, 0)
    log.delete_records_before(9)
    assert timestamps.max_timestamp_offset(log) == (T0 + 20, 6, 0)


def test_s23_a_wrong_max_timestamp_finds_nothing(tmp_path: Path) -> None:
    """A-06: clients' max timestamps are not checked with CreateTime, records decide."""
    log = open_log(tmp_path)
    for _ in range(2):
        records = validated(batch_bytes(T0))
        records.batch.set_max_timestamp(False, T0 + 9)
        log.append(records._replace(max_timestamp=T0 + 9), now_ms=NOW_MS)
    append(log, T0 + 3)
    assert timestamps.offset_for_timestamp(log, T0 + 3) == (T0 + 3, 2, 0)
    assert timestamps.offset_for_timestamp(log, T0 + 4) is None
    assert timestamps.max_timestamp_offset(log) is None


def test_s24_an_empty_log_has_none(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    assert timestamps.max_timestamp_offset(log) is None
    assert timestamps.offset_for_timestamp(log, 0) is None


def test_s23_records_without_timestamp_count_by_the_file(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, -1)
    assert timestamps.offset_for_timestamp(log, 5) is None
    log.close()
    again = open_log(tmp_path).segments.active
    assert again.largest_timestamp() == os.stat(again.path).st_mtime_ns // 1_000_000


@pytest.mark.parametrize(
    ("timestamp", "count", "expected"),
    [
        pytest.param(-1, 1, [9], id="F-74 latest"),
        pytest.param(-1, 9, [9, 6, 3, 1], id="F-74 all"),
        pytest.param(-2, 1, [1], id="F-74 earliest"),
        pytest.param(2500, 5, [3, 1], id="F-74 by time"),
        pytest.param(500, 5, [], id="F-74 too old"),
        pytest.param(-1, 0, [], id="F-74 none wanted"),
    ],
)
def test_f74_segments_by_age(log: Log, timestamp: int, count: int, expected: list[int]) -> None:
    log.delete_records_before(1)
    for second, segment in enumerate(log.segments.all, start=1):
        os.utime(segment.path, (second, second))
    assert timestamps.offsets_before(log, timestamp, count, now_ms=5000) == expected


def test_f74_an_empty_log(tmp_path: Path) -> None:
    assert timestamps.offsets_before(open_log(tmp_path), -1, 9, now_ms=0) == [0]


def test_files_that_are_gone(log: Log) -> None:
    for segment in log.segments.all:
        segment.mark_deleted()
    with pytest.raises(errors.KafkaStorageError):
        timestamps.offset_for_timestamp(log, T0)
    with pytest.raises(errors.KafkaStorageError):
        timestamps.max_timestamp_offset(log)
    with pytest.raises(errors.KafkaStorageError):
        timestamps.offsets_before(log, -1, 1, now_ms=0)


@pytest.mark.parametrize("limit", ["AT_ONCE_BYTES_MAX", "AT_ONCE_FILE_BYTES_MAX"])
def test_s23_a_batch_that_is_large_or_unfolds_to_much_is_for_a_thread(
    log: Log, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timestamps, limit, 1)
    with pytest.raises(timestamps.HeavyBatch) as heavy:
        timestamps.offset_for_timestamp(log, T0, at_once=True)
    assert heavy.value.next_offset == 2
    assert heavy.value.candidate.search_within(UNBOUNDED) == (T0, 0, 0)


@pytest.mark.parametrize("find", ["offset_for_timestamp", "max_timestamp_offset"])
def test_s23_s24_very_many_empty_batches_are_searched_in_parts(tmp_path: Path, find: str) -> None:
    log = open_log(tmp_path / "t-0", LogConfig(headers_only_up_to=1000, segment_ms=FOREVER_MS))
    for _ in range(2500):
        append(log)
    log.update_config(LogConfig(segment_ms=FOREVER_MS))
    append(log)
    time = {"timestamp": T0} if find == "offset_for_timestamp" else {}
    search = getattr(timestamps, find)
    with pytest.raises(timestamps.HeavyBatch) as first:
        search(log, **time, at_once=True)
    with pytest.raises(timestamps.HeavyBatch) as second:
        search(log, **time, from_offset=first.value.next_offset, at_once=True)
    for heavy, next_offset in ((first.value, 1001), (second.value, 2002)):
        assert heavy.next_offset == next_offset
        assert heavy.candidate.search_within(UNBOUNDED) is None
    assert search(log, **time, from_offset=2002, at_once=True) == (T0, 2500, 0)
    assert search(log, **time) == (T0, 2500, 0)


def candidate_of(data: bytes, timestamp: int, offset_min: int) -> timestamps.Candidate:
    """A batch that is a whole file; the leader epoch is 3."""
    file: Any = SimpleNamespace(read_at=lambda position, size_bytes: data[position:size_bytes])
    place: Any = SimpleNamespace(size_bytes=len(data), position=0, leader_epoch=3)
    return timestamps.Candidate(file, place, timestamp, offset_min=offset_min)


@pytest.mark.parametrize(("offset_min", "expected"), [(0, (T0, 0, 3)), (1, None)])
def test_s23_records_below_the_log_start_do_not_count(offset_min: int, expected: Any) -> None:
    data = batch(record(), timestamp=T0)
    assert candidate_of(data, T0, offset_min).search_within(UNBOUNDED) == expected


def test_s23_damaged_records_are_an_error() -> None:
    """The batch before the wrong record is read, as by Kafka's iterator."""
    data = batch(record() + b"\x01", count=2, timestamp=T0)
    assert candidate_of(data, T0, 0).search_within(UNBOUNDED) == (T0, 0, 3)
    with pytest.raises(errors.InvalidRecord):
        candidate_of(data, T0 + 1, 0).search_within(UNBOUNDED)


@pytest.mark.parametrize(("offset_min", "expected"), [(0, (T0, 0, 3)), (1, None)])
def test_s23_old_messages_below_the_log_start_do_not_count(offset_min: int, expected: Any) -> None:
    data = encode_message(0, 1, 0, T0, b"k", b"v")
    assert candidate_of(data, T0, offset_min).search_within(UNBOUNDED) == expected
