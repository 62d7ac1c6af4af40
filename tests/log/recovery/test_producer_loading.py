"""S-17, S-18, S-45: the producers as of an offset, and the snapshots that are kept."""

from pathlib import Path

import pytest

from broker_lite.log.config import LogConfig
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.recovery.producer_loading import ProducerLoader
from tests.log.logs import FOREVER_MS, T0, append, open_log

CONFIG = LogConfig(segment_bytes=150, segment_ms=FOREVER_MS)


@pytest.fixture
def segments(tmp_path: Path) -> list[LogSegment]:
    """Segments from 0, 2, 4 and 6 on, a batch of producer 5 each offset, and no snapshot."""
    log = open_log(tmp_path, CONFIG, now_ms=T0)
    for sequence in range(8):
        append(log, producer=(5, 0, sequence))
    log.close()
    for path in tmp_path.glob("*.snapshot"):
        path.unlink()
    return log.segments.all


def snapshots(directory: Path) -> list[int]:
    return [int(path.stem) for path in sorted(directory.glob("*.snapshot"))]


def last_sequence(loader: ProducerLoader) -> int:
    (entry,) = loader.state.describe()
    return entry.last_sequence


def test_s45_all_is_replayed_up_to_an_offset(tmp_path: Path, segments: list[LogSegment]) -> None:
    """The last two segments get their snapshots, and the next one begins with these."""
    loader = ProducerLoader(str(tmp_path), CONFIG, 0, T0)
    loader.load(segments, 7)
    assert (last_sequence(loader), snapshots(tmp_path)) == (6, [4, 6])
    loader.load(segments, 5)
    assert last_sequence(loader) == 4
    loader.load(segments, 0)
    assert loader.state.describe() == []


def test_s45_an_older_snapshot_is_not_looked_at(tmp_path: Path, segments: list[LogSegment]) -> None:
    loader = ProducerLoader(str(tmp_path), CONFIG, 0, T0)
    loader.load(segments, 6)
    loader.write_snapshot(6)
    assert snapshots(tmp_path) == [2, 4, 6]
    (tmp_path / f"{2:020}.snapshot").write_bytes(b"damaged")
    again = ProducerLoader(str(tmp_path), CONFIG, 0, T0)
    again.load(segments, 8)
    assert (last_sequence(again), snapshots(tmp_path)) == (7, [2, 4, 6])


def test_s45_what_is_below_the_checkpointed_start_is_not(
    tmp_path: Path, segments: list[LogSegment]
) -> None:
    loader = ProducerLoader(str(tmp_path), CONFIG, 6, T0)
    loader.load(segments, 8)
    loader.write_snapshot(6)
    loader.write_snapshot(8)
    assert snapshots(tmp_path) == [8]


def test_s18_strays_go(tmp_path: Path, segments: list[LogSegment]) -> None:
    loader = ProducerLoader(str(tmp_path), CONFIG, 0, T0)
    for offset in (1, 2, 3, 4, 6, 7, 8, 9):
        loader.write_snapshot(offset)
    loader.drop_strays([segment.base_offset for segment in segments], 2, 8)
    assert snapshots(tmp_path) == loader.snapshots == [4, 6]
    loader.write_snapshot(8)
    loader.write_snapshot(8)
    loader.drop_strays([segment.base_offset for segment in segments], 2, 8)
    assert snapshots(tmp_path) == [4, 6, 8]
