"""S-56: a log that keeps only the headers of batches."""

from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.config import LogConfig
from broker_lite.log.discarding import header_only
from broker_lite.log.log import Log
from broker_lite.log.producers.entry import AppendOrigin
from broker_lite.log.read import READ_COMMITTED, read_log
from broker_lite.log.timestamps import max_timestamp_offset, offset_for_timestamp
from broker_lite.record.batch import RecordBatch
from tests.log.logs import (
    FOREVER_MS,
    NOW_MS,
    T0,
    append,
    batch_bytes,
    batches_of,
    content,
    end_transaction,
    open_log,
    validated,
)

HEADER_BYTES = 61
CONFIG = LogConfig(headers_only_up_to=1000, segment_ms=FOREVER_MS)
TIMES = (T0, T0 + 1, T0 + 2)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return open_log(tmp_path / "t-0", CONFIG)


def after_a_kill(log: Log) -> Log:
    return open_log(Path(log.directory), CONFIG, clean=False)


def stored(log: Log) -> list[RecordBatch]:
    data = content(read_log(log, 0, max_bytes=100_000))
    return [RecordBatch(memoryview(each), 0, len(each)) for each in batches_of(data)]


def test_s56_offsets_advance_and_only_the_header_stays(log: Log) -> None:
    for count in (1, 2):
        info = append(log, *TIMES, value=b"x" * 200, codec=1)
        assert (info.base_offset, info.last_offset) == (3 * count - 3, 3 * count - 1)
        assert (log.log_end_offset, log.high_watermark) == (3 * count, 3 * count)
        assert (log.log_start_offset, log.segments.size_bytes) == (0, HEADER_BYTES * count)
    first, second = stored(log)
    assert (first.base_offset, first.last_offset, second.base_offset) == (0, 2, 3)
    assert (first.record_count, first.max_timestamp, first.is_compressed) == (0, TIMES[2], False)
    first.ensure_valid()


def test_s56_the_batch_of_the_caller_stays_as_it_is() -> None:
    given = validated(batch_bytes(*TIMES, codec=1))
    before = bytes(given.buffer)
    made = header_only(given, 1000)
    assert bytes(given.buffer) == before
    assert made[1:] == given[1:]
    assert len(made.buffer) == HEADER_BYTES


def test_s56_a_batch_may_be_as_large_as_a_stored_one(log: Log) -> None:
    overhead = len(batch_bytes(value=b"x" * 900)) - 900
    append(log, value=b"x" * (1000 - overhead))
    with pytest.raises(errors.RecordListTooLarge):
        append(log, value=b"x" * (1001 - overhead))
    assert log.log_end_offset == 1


def test_s56_after_a_kill_offsets_and_sequences_go_on(log: Log) -> None:
    append(log, *TIMES, producer=(7, 1, 0))
    append(log, *TIMES, producer=(7, 1, 3))
    again = after_a_kill(log)
    assert (again.log_end_offset, again.high_watermark) == (6, 6)
    duplicate = append(again, *TIMES, producer=(7, 1, 3))
    assert (duplicate.duplicate, duplicate.base_offset) == (True, 3)
    with pytest.raises(errors.OutOfOrderSequenceNumber):
        append(again, producer=(7, 1, 9))
    assert append(again, producer=(7, 1, 6)).base_offset == 6
    with pytest.raises(errors.InvalidProducerEpoch):
        append(again, producer=(7, 0, 7))


def test_s56_transactions_are_as_in_any_log(log: Log) -> None:
    append(log, *TIMES, producer=(7, 0, 0), transactional=True)
    again = after_a_kill(log)
    assert (again.last_stable_offset, again.high_watermark) == (0, 3)
    assert end_transaction(again, 7, commit=False) == 3
    assert again.last_stable_offset == 4
    found = read_log(again, 0, max_bytes=1000, isolation_level=READ_COMMITTED)
    (aborted,) = found.aborted_transactions or ()
    assert (aborted.producer_id, aborted.first_offset, aborted.last_offset) == (7, 0, 3)


def test_s56_what_coordinators_and_replicas_append_is_discarded_alike(log: Log) -> None:
    for origin in AppendOrigin:
        log.append_batch(batch_bytes(value=b"x" * 100), now_ms=NOW_MS, origin=origin)
    assert [each.record_count for each in stored(log)] == [0] * len(AppendOrigin)


def test_s56_a_search_by_time_finds_no_discarded_record(log: Log) -> None:
    append(log, *TIMES)
    append(log, T0 + 9)
    assert offset_for_timestamp(log, T0) is None
    assert max_timestamp_offset(log) is None
    log.update_config(LogConfig(segment_ms=FOREVER_MS))
    append(log, T0 + 5)
    assert offset_for_timestamp(log, T0) == (T0 + 5, 4, 0)


def test_s56_the_mode_may_change_at_any_time(log: Log) -> None:
    log.update_config(LogConfig(segment_ms=FOREVER_MS))
    append(log, *TIMES)
    log.update_config(CONFIG)
    append(log, *TIMES)
    log.update_config(LogConfig(segment_ms=FOREVER_MS))
    append(log, *TIMES)
    assert [each.record_count for each in stored(log)] == [3, 0, 3]
    assert after_a_kill(log).log_end_offset == 9
