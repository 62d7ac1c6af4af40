"""S-23: offsets that can have records of wanted times."""

from pathlib import Path

import pytest

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.layout import find_partitions
from broker_lite.pipeline.matching.time_ranges import narrowed_by_time
from broker_lite.pipeline.read.ranges import OffsetRange, bounds_of
from broker_lite.record.batch import MAGIC_OFFSET
from tests.pipeline.support import T0, NewRecord, Partition, damage

IO = LocalFileIO()


def narrowed(root: Path, from_ms: int | None, until_ms: int | None, late_ms: int = 0) -> range:
    logs = find_partitions(IO, str(root))
    (found,) = narrowed_by_time(IO, logs, bounds_of(IO, logs), from_ms, until_ms, late_ms).values()
    return range(*found)


def write(root: Path, *times: int) -> None:
    """A record for each time, in a batch and a segment of its own."""
    with Partition(root) as partition:
        for time in times:
            partition.append([NewRecord(b"k", b"v", timestamp_ms=T0 + time)])
            partition.roll()


@pytest.mark.parametrize(
    ("from_ms", "until_ms", "late_ms", "expected"),
    [
        (None, None, 0, range(5)),
        (20, None, 0, range(1, 5)),
        (30, None, 0, range(3, 5)),
        (41, None, 0, range(5, 5)),
        (None, 20, 0, range(1)),
        (None, 20, 10, range(3)),
        (None, 41, 0, range(5)),
        (None, 0, 0, range(0)),
        (20, 40, 0, range(1, 4)),
        (40, 20, 0, range(4, 4)),
    ],
)
def test_ranges(
    tmp_path: Path, from_ms: int | None, until_ms: int | None, late_ms: int, expected: range
) -> None:
    write(tmp_path, 10, 20, 15, 30, 40)
    found = narrowed(
        tmp_path,
        None if from_ms is None else T0 + from_ms,
        None if until_ms is None else T0 + until_ms,
        late_ms,
    )
    assert (found.start, found.stop) == (expected.start, expected.stop)


def test_where_records_were_deleted_none_is_no_proof(tmp_path: Path) -> None:
    """As in Kafka, only the first segment that reaches a time is searched."""
    with Partition(tmp_path) as partition:
        partition.append([NewRecord(timestamp_ms=T0 + 50), NewRecord(timestamp_ms=T0 + 1)])
        partition.append([NewRecord(timestamp_ms=T0 + 2)])
        partition.roll()
        partition.append([NewRecord(timestamp_ms=T0 + 60)])
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\ntopic 0 1\n")
    logs = find_partitions(IO, str(tmp_path))
    bounds = {("topic", 0): OffsetRange(1, 4)}
    found = narrowed_by_time(IO, logs, bounds, T0 + 40, None, 0)
    assert found["topic", 0] == OffsetRange(1, 4)


def test_an_empty_partition(tmp_path: Path) -> None:
    with Partition(tmp_path):
        pass
    assert narrowed(tmp_path, T0, T0 + 1) == range(0)


def test_damage_is_no_end(tmp_path: Path) -> None:
    """What is behind it may be wanted, and the reader has to come to it to tell of it."""
    write(tmp_path, 10, 20, 30, 40)
    path = sorted((tmp_path / "topic-0").glob("*.log"))[1]
    damage(path, MAGIC_OFFSET)
    for index in (tmp_path / "topic-0").glob("*index"):
        index.unlink()
    assert narrowed(tmp_path, None, T0 + 40) == range(3)
