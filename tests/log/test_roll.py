"""S-30, S-34: when a segment rolls, as observed on real brokers.

Also tests: broker_lite.log.config.
"""

from pathlib import Path

import pytest

from broker_lite.log.config import LogConfig
from broker_lite.log.roll import draw_jitter_ms
from tests.log.logs import FOREVER_MS, NOW_MS, T0, append, files, open_log, segment_bases


def test_s34_time_follows_the_records(tmp_path: Path) -> None:
    """S-34 (probed): segment.ms 1000; old timestamps never roll."""
    log = open_log(tmp_path, LogConfig(segment_ms=1000))
    steps = []
    for timestamp in (0, 500, -100000, 1000, 1001, 900, 5000, 0):
        append(log, T0 + timestamp)
        steps.append(segment_bases(tmp_path))
    assert steps == [[0]] * 4 + [[0, 4]] * 2 + [[0, 4, 6]] * 2


def test_s30_after_a_reload_time_counts_from_the_first_batch(tmp_path: Path) -> None:
    config = LogConfig(segment_ms=1000)
    log = open_log(tmp_path, config)
    log.segments.active.jitter_ms = 99
    append(log, T0)
    append(log, T0 + 900)
    log.close()
    log = open_log(tmp_path, config)
    append(log, T0 + 1001)
    assert segment_bases(tmp_path) == [0, 2]


def test_s30_without_timestamps_the_clock_counts(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(segment_ms=1000))
    for now_ms in (0, 1000, 1001):
        append(log, -1, now_ms=NOW_MS + now_ms)
    assert segment_bases(tmp_path) == [0, 2]


def test_s30_jitter_comes_before_the_time(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(segment_ms=1000))
    log.segments.active.jitter_ms = 99
    for timestamp in (0, 901, 902):
        append(log, T0 + timestamp)
    assert segment_bases(tmp_path) == [0, 2]


def test_s30_compacted_topics_roll_by_their_lag_too(tmp_path: Path) -> None:
    config = LogConfig(segment_ms=FOREVER_MS, cleanup_compact=True, max_compaction_lag_ms=500)
    log = open_log(tmp_path, config)
    for timestamp in (0, 500, 501):
        append(log, T0 + timestamp)
    assert segment_bases(tmp_path) == [0, 2]


@pytest.mark.parametrize(
    ("config", "bases"),
    [
        pytest.param(LogConfig(segment_bytes=140), [0, 2], id="S-30 row 1: exactly full"),
        pytest.param(LogConfig(segment_bytes=139), [0, 1, 2], id="S-30 row 1: one byte short"),
        pytest.param(
            LogConfig(segment_index_bytes=36, index_interval_bytes=0),
            [0],
            id="S-30 row 3: not full",
        ),
        pytest.param(
            LogConfig(segment_index_bytes=15, index_interval_bytes=0),
            [0, 1, 2],
            id="S-30 row 4: room for the closing entry only",
        ),
        pytest.param(LogConfig(segment_index_bytes=4), [0, 1, 2], id="S-12: capacity 0"),
    ],
)
def test_s30_size_and_indexes(tmp_path: Path, config: LogConfig, bases: list[int]) -> None:
    log = open_log(tmp_path, config)
    for _ in range(3):
        append(log)
    assert segment_bases(tmp_path) == bases


def test_s30_offsets_must_fit_31_bits(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log)
    log.log_end_offset = 1 << 31
    append(log)
    assert segment_bases(tmp_path) == [0, 1 << 31]


def test_s34_index_interval_zero(tmp_path: Path) -> None:
    """S-13, S-34 (probed): every batch but the first gets an entry."""
    log = open_log(tmp_path, LogConfig(index_interval_bytes=0))
    for _ in range(4):
        append(log)
    log.close()
    index = files(tmp_path)["00000000000000000000.index"]
    entries = [int.from_bytes(index[i : i + 4], "big") for i in range(0, len(index), 4)]
    assert entries == [1, 70, 2, 140, 3, 210]


def test_s30_jitter() -> None:
    assert draw_jitter_ms(LogConfig()) == 0
    config = LogConfig(segment_jitter_ms=100, segment_ms=3)
    assert {draw_jitter_ms(config) for _ in range(200)} == {0, 1, 2}
