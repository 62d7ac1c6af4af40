"""Two logs are compared: by offset as copies, by content as mirrors."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from broker_lite.pipeline.spark.jobs.diff import By, Difference, diff
from tests.pipeline.support import NewRecord, Partition, numbered

RECORDS = [*numbered(3), NewRecord(), NewRecord(b"", b"", ((b"h", None), (b"h", b"")))]


def write(root: Path, records: Sequence[NewRecord], *, topic: str = "topic") -> str:
    with Partition(root, topic) as partition:
        partition.append(records)
    return str(root)


def rows(found: Difference) -> list[tuple[str, int, int]]:
    return sorted((row.status, row.offset, row["count"]) for row in found.rows.collect())


@pytest.mark.parametrize("by", By)
def test_a_log_does_not_differ_from_its_copy(spark: SparkSession, tmp_path: Path, by: By) -> None:
    left = write(tmp_path / "left", RECORDS)
    right = write(tmp_path / "right", RECORDS)
    found = diff(spark, left, right, by=by)
    assert (found.equal, found.is_none, rows(found)) == (5, True, [])


def test_records_that_are_not_the_same(spark: SparkSession, tmp_path: Path) -> None:
    """Each field counts, and null is not the same as empty."""
    full = NewRecord(b"", b"", ((b"h", None), (b"h", b"")), 5)
    changed = [
        full,
        full._replace(key=None),
        full._replace(value=None),
        full._replace(value=b"x"),
        full._replace(timestamp_ms=7),
        full._replace(headers=()),
        full._replace(headers=((b"h", b""), (b"h", None))),
        full._replace(headers=((b"i", None), (b"h", b""))),
    ]
    left = write(tmp_path / "left", [full] * len(changed))
    right = write(tmp_path / "right", changed)
    found = diff(spark, left, right)
    assert (found.equal, found.missing, found.extra, found.different) == (1, 0, 0, 7)
    assert rows(found) == [("different", offset, 1) for offset in range(1, 8)]


def test_what_only_one_of_them_has(spark: SparkSession, tmp_path: Path) -> None:
    left = write(tmp_path / "left", RECORDS)
    right = write(tmp_path / "right", RECORDS[:3])
    assert rows(diff(spark, left, right)) == [("missing", 3, 1), ("missing", 4, 1)]
    assert rows(diff(spark, right, left)) == [("extra", 3, 1), ("extra", 4, 1)]


def test_only_what_is_compared_counts(spark: SparkSession, tmp_path: Path) -> None:
    left = write(tmp_path / "left", RECORDS)
    right = write(tmp_path / "right", [one._replace(timestamp_ms=7) for one in RECORDS])
    assert diff(spark, left, right).different == 5
    assert diff(spark, left, right, columns=("key", "value", "headers")).is_none


def test_a_mirror_has_its_own_offsets(spark: SparkSession, tmp_path: Path) -> None:
    """The one record that comes twice on the left is once on the right; one is only there."""
    same = [one._replace(timestamp_ms=7) for one in RECORDS]
    left = write(tmp_path / "left", [*same, same[1]])
    right = write(
        tmp_path / "right",
        [NewRecord(b"new", timestamp_ms=7), *reversed(same)],
        topic="source.topic",
    )
    found = diff(spark, left, right, by=By.CONTENT, renamed={"topic": "source.topic"})
    assert (found.equal, found.missing, found.extra, found.different) == (5, 1, 1, 0)
    assert rows(found) == [("extra", 0, 1), ("missing", 1, 1)]
