"""S-23, S-41, S-50: what is read of a log that nobody uses."""

import os
from pathlib import Path

from broker_lite.log.directory.idle import IdleSegment, read_idle_segments
from tests.log.directory.test_retention import BATCH_BYTES, config
from tests.log.logs import STEM, T0, append, batch_bytes, open_log

SECOND = STEM[:-1] + "1"


def test_s50_the_oldest_segment_and_the_rest_as_one(tmp_path: Path) -> None:
    log = open_log(tmp_path / "t-0", config())
    for timestamp in (T0 + 5, T0 + 3, T0 + 9):
        append(log, timestamp)
    log.close()
    segments = read_idle_segments(str(tmp_path / "t-0"))
    assert segments == (
        IdleSegment(0, BATCH_BYTES, T0 + 5),
        IdleSegment(1, 2 * BATCH_BYTES, T0 + 5),
    )
    assert segments[0].largest_timestamp() == T0 + 5


def test_s23_without_timestamps_the_files_age_counts(tmp_path: Path) -> None:
    for name in (".log", ".timeindex"):
        (tmp_path / (STEM + name)).touch()
    os.utime(tmp_path / (STEM + ".log"), ns=(0, T0 * 1_000_000))
    assert read_idle_segments(str(tmp_path)) == (IdleSegment(0, 0, T0),)
    (tmp_path / (STEM + ".timeindex")).unlink()
    assert read_idle_segments(str(tmp_path)) == (IdleSegment(0, 0, T0),)
    (tmp_path / (STEM + ".timeindex")).write_bytes(b"\xff" * 12)
    assert read_idle_segments(str(tmp_path)) == (IdleSegment(0, 0, T0),)
    (tmp_path / (STEM + ".timeindex")).write_bytes(bytes(12))  # 0 is a timestamp
    assert read_idle_segments(str(tmp_path)) == (IdleSegment(0, 0, 0),)


def test_s41_what_was_to_be_deleted_before_the_stop_is_deleted(tmp_path: Path) -> None:
    for name in (STEM + ".log.deleted", SECOND + ".index.deleted", "partition.metadata"):
        (tmp_path / name).write_bytes(batch_bytes())
    assert read_idle_segments(str(tmp_path)) == ()
    assert os.listdir(tmp_path) == ["partition.metadata"]
