"""Which part of a log is cleaned, and when it is worth it: S-80, S-81."""

from pathlib import Path

import pytest

from broker_lite.log.cleaner.eligibility import Cleanable, find_cleanable
from broker_lite.log.config import LogConfig
from tests.log.cleaner.cleaning import CleanedLog, config
from tests.log.logs import NOW_MS, T0

BATCH_BYTES = 70


def segments(data_dir: Path, settings: LogConfig | None = None, count: int = 4) -> CleanedLog:
    """One batch in each segment, the last of which is active; a minute between two."""
    given = CleanedLog(data_dir, settings)
    for number in range(count):
        given.append(("k", "v"), timestamp=T0 + number * 60_000)
        if number < count - 1:
            given.roll()
    return given


def found(given: CleanedLog, checkpoint: int | None = None, now_ms: int = NOW_MS) -> Cleanable:
    return find_cleanable(given.log, checkpoint, now_ms)


def test_all_but_the_active_segment_s80(tmp_path: Path) -> None:
    given = segments(tmp_path)
    size = given.log.segments.all[0].size_bytes
    assert found(given) == (given.log, 0, 3, 0, 3 * size, False)
    assert found(given, 2) == (given.log, 2, 3, 2 * size, size, False)
    assert found(given, 3) == (given.log, 3, 3, 3 * size, 0, False)
    assert found(given, 4) == (given.log, 4, 3, 3 * size, 0, False)


@pytest.mark.parametrize("checkpoint", [-1, 5])
def test_a_checkpoint_outside_of_the_log_does_not_count_s80(
    tmp_path: Path, checkpoint: int
) -> None:
    given = segments(tmp_path)
    assert found(given, checkpoint).first_dirty == 0
    given.log.log_start_offset = 2
    assert found(given, 1).first_dirty == 2


def test_a_log_of_one_segment_s80(tmp_path: Path) -> None:
    given = segments(tmp_path, count=1)
    assert not found(given).is_due


def test_nothing_from_an_open_transaction_on_s80(tmp_path: Path) -> None:
    given = segments(tmp_path, count=2)
    given.append(("k", "v"))
    given.append(("k", "v"), producer=(7, 0, 0), transactional=True)
    given.roll()
    given.append(("k", "v"))
    assert given.log.last_stable_offset == 3
    assert found(given).end_offset == 1  # base of the segment that holds it


def test_nothing_younger_than_the_lag_s80(tmp_path: Path) -> None:
    given = segments(tmp_path, config(min_compaction_lag_ms=1000))
    assert found(given, now_ms=T0 + 61_000).end_offset == 2
    assert found(given, now_ms=T0 + 60_999).end_offset == 1
    assert found(given, now_ms=T0).end_offset == 0
    assert not found(given, now_ms=T0).is_due
    assert found(given, 2, now_ms=T0 + 120_000).end_offset == 2
    assert found(given).end_offset == 3


def test_by_the_dirty_ratio_s81(tmp_path: Path) -> None:
    given = segments(tmp_path, config(min_cleanable_dirty_ratio=0.5), count=5)
    assert found(given).ratio == 1.0
    assert found(given, 1).is_due
    assert found(given, 2).ratio == 0.5
    assert not found(given, 2).is_due


def test_when_a_record_has_waited_for_long_s81(tmp_path: Path) -> None:
    settings = config(min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=1000)
    given = segments(tmp_path, settings)
    for segment in given.log.segments.all:
        segment.rolling_timestamp = -1  # as after a restart
    assert not found(given, now_ms=T0 + 1000).is_due
    assert found(given, now_ms=T0 + 1001).is_due
    assert not found(given, 3, now_ms=T0 + 1001).is_due  # nothing to clean
    assert found(given, 1, now_ms=T0 + 61_001).is_due
    assert not found(given, 1, now_ms=T0 + 61_000).is_due


def test_a_segment_without_timestamps_is_not_overdue_s81(tmp_path: Path) -> None:
    settings = config(min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=1)
    given = CleanedLog(tmp_path, settings)
    given.append(("k", "v"), timestamp=-1)
    given.roll()
    given.append(("k", "v"))
    first = given.log.segments.all[0]
    assert not found(given).is_overdue
    first.size_bytes = 10  # no whole batch
    assert not found(given).is_overdue
    first.size_bytes = 0
    assert not found(given).is_overdue
