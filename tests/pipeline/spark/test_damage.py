"""Damage in the last segment, beside which there is no index: R-02, R-04, S-05, S-10."""

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.pipeline.support import Partition, damage, numbered

BATCHES, RECORDS, BATCH_BYTES = 40, 10, 431


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """One segment of batches of one size, without any file beside it; gives the .log."""
    with Partition(tmp_path / "data") as partition:
        for batch in range(BATCHES):
            partition.append(numbered(RECORDS, first=batch * RECORDS))
    partition.crash()
    (path,) = partition.directory.glob("*.log")
    assert path.stat().st_size == BATCHES * BATCH_BYTES
    return path


def offsets(spark: SparkSession, path: Path, on_corrupt: str) -> list[int]:
    reader = spark.read.format("kafka_segments").option("onCorrupt", on_corrupt)
    rows = reader.option("columns", "offset").load(str(path.parent.parent)).collect()
    return sorted(row["offset"] for row in rows)


@pytest.mark.parametrize(
    ("byte", "xor"),
    [
        pytest.param(16, 7, id="R-02 magic"),
        pytest.param(9, 1, id="R-04 a bit of the length"),
        pytest.param(8, 0x80, id="R-04 a length below 0"),
    ],
)
def test_a_wrong_header_loses_one_batch_and_says_so(
    spark: SparkSession, log: Path, byte: int, xor: int
) -> None:
    damage(log, 12 * BATCH_BYTES + byte, xor)
    with pytest.raises(PySparkException, match=rf"corrupt log: .* at {12 * BATCH_BYTES}: R-"):
        offsets(spark, log, "fail")
    lost = range(12 * RECORDS, 13 * RECORDS)
    expected = [offset for offset in range(BATCHES * RECORDS) if offset not in lost]
    assert offsets(spark, log, "skip") == expected


def test_s_05_zeros_in_the_midst_are_no_torn_tail(spark: SparkSession, log: Path) -> None:
    data = bytearray(log.read_bytes())
    data[4096:8192] = bytes(4096)
    log.write_bytes(data)
    with pytest.raises(PySparkException, match="corrupt log"):
        offsets(spark, log, "fail")
    was_zero = 3  # an offset begins with zeros, so the last batch that they touch is whole
    whole = [
        number
        for number in range(BATCHES)
        if (number + 1) * BATCH_BYTES <= 4096 or number * BATCH_BYTES >= 8192 - was_zero
    ]
    expected = [n * RECORDS + offset for n in whole for offset in range(RECORDS)]
    assert offsets(spark, log, "skip") == expected


def test_s_10_an_empty_log_beside_a_full_index(spark: SparkSession, tmp_path: Path) -> None:
    with Partition(tmp_path / "data") as partition:
        for batch in range(BATCHES):
            partition.append(numbered(RECORDS, first=batch * RECORDS))
    (path,) = partition.directory.glob("*.log")
    for snapshot in partition.directory.glob("*.snapshot"):
        snapshot.unlink()
    path.write_bytes(b"")
    with pytest.raises(PySparkException, match=r"S-10: the log ends at offset 0, and its \.index"):
        offsets(spark, path, "fail")


def test_a_stream_ends_with_an_error(spark: SparkSession, log: Path, tmp_path: Path) -> None:
    damage(log, 12 * BATCH_BYTES + 16, 7)
    reader = spark.readStream.format("kafka_segments").option("startingOffsets", "earliest")
    rows = reader.load(str(log.parent.parent)).select("offset")
    checkpoint = str(tmp_path / "checkpoint")
    query = (
        rows.writeStream.format("noop")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    with pytest.raises(PySparkException, match="corrupt log"):
        query.awaitTermination()
