"""What a Delta or Iceberg table has after any number of exports is what the log had."""

import re
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.testing import assertSchemaEqual

from broker_lite.pipeline.read.ranges import DataLossError
from broker_lite.pipeline.spark.jobs.export import records_of
from broker_lite.pipeline.spark.jobs.export_lake import Added, export_lake
from broker_lite.pipeline.spark.jobs.exported import read_export, read_kept
from broker_lite.pipeline.spark.jobs.import_ import import_table
from broker_lite.pipeline.spark.lake.table import LakeError
from tests.pipeline.mixed_log import write_mixed_log
from tests.pipeline.stream_support import delete_segments_below
from tests.pipeline.support import NewRecord, Partition, numbered

DAY_MS = 86_400_000
ODD = [NewRecord(), NewRecord(b"", b"", ((b"h", None), (b"h", b"\xff"), (b"", b"")))]


@pytest.fixture(params=["delta", "iceberg"])
def table_format(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Lake:
    """A log, and the table that it is exported to."""

    def __init__(self, spark: SparkSession, folder: Path, table_format: str) -> None:
        self._spark, self.table_format = spark, table_format
        self.log, self.target = folder / "log", str(folder / "a table")

    def export(self, **options: str) -> int:
        return self.added(**options).records

    def added(self, **options: str) -> Added:
        log, target = str(self.log), self.target
        return export_lake(self._spark, log, target, options, table_format=self.table_format)

    def append(self, count: int, topic: str = "orders", partition: int = 0) -> None:
        with Partition(self.log, topic, partition) as log:
            log.append(numbered(count), codec=4)
            log.roll()

    def places(self) -> list[tuple[str, int, int]]:
        table = read_export(self._spark, self.target, self.table_format)
        rows = table.select("topic", "partition", "offset").collect()
        return sorted((row.topic, row.partition, row.offset) for row in rows)


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path, table_format: str) -> Lake:
    return Lake(spark, tmp_path, table_format)


def test_the_round_trip(spark: SparkSession, lake: Lake) -> None:
    write_mixed_log(lake.log)
    with Partition(lake.log, "2024-01-01.Odd_name", 7) as partition:
        partition.append(ODD)
        partition.append([NewRecord(b"k", b"v", timestamp_ms=-1)])
        partition.append([NewRecord(timestamp_ms=DAY_MS * day) for day in (20000, 20001, 20000)])
    assert lake.export() == 81
    exported = read_export(spark, lake.target, lake.table_format)
    read = records_of(spark, str(lake.log))
    assertSchemaEqual(exported.schema, read.schema)
    assert exported.count() == read.count() == 81
    assert exported.exceptAll(read).count() == read.exceptAll(exported).count() == 0


def test_each_export_adds_what_is_new(lake: Lake) -> None:
    lake.append(20)
    assert lake.export() == 20
    assert lake.export() == 0
    lake.append(30)
    delete_segments_below(lake.log / "orders-0", 20)  # what the table has already
    lake.append(5, "later.Topic", 3)
    assert lake.export() == 35
    orders = [("orders", 0, offset) for offset in range(50)]
    assert lake.places() == [*(("later.Topic", 3, offset) for offset in range(5)), *orders]


def test_topics_one_after_the_other(lake: Lake) -> None:
    lake.append(3, "a")
    lake.append(4, "b")
    assert lake.export(subscribe="a") == 3
    assert lake.export(assign='{"b": [0]}') == 4
    assert lake.export() == 0
    assert len(lake.places()) == 7


def test_an_open_transaction_is_waited_for(lake: Lake) -> None:
    committed = {"isolationLevel": "read_committed"}
    with Partition(lake.log) as partition:
        partition.append(numbered(2))
        partition.append(numbered(3), producer_id=1, is_transactional=True)
        partition.append(numbered(4))
        partition.flush()
        assert lake.export(**committed) == 2
        partition.end_transaction(1, commit=True)
        partition.append(numbered(5), producer_id=2, is_transactional=True)
        partition.end_transaction(2, commit=False)
    assert lake.export(**committed) == 7
    assert [offset for _, _, offset in lake.places()] == list(range(9))
    assert lake.export(**committed) == 0


def test_records_that_were_deleted_before_they_were_exported(lake: Lake) -> None:
    for _ in range(3):
        lake.append(10)
    assert lake.export() == 30
    for _ in range(3):
        lake.append(10)
    delete_segments_below(lake.log / "orders-0", 50)
    with pytest.raises(PySparkException, match="offsets 30 to 60 were asked for, the log has 50"):
        lake.export()
    assert len(lake.places()) == 30
    assert lake.export(failOnDataLoss="false") == 10
    assert [offset for _, _, offset in lake.places()] == [*range(30), *range(50, 60)]


def test_a_topic_that_was_made_anew(lake: Lake) -> None:
    lake.append(10)
    assert lake.export() == 10
    for path in (lake.log / "orders-0").iterdir():
        path.unlink()
    lake.append(4)
    with pytest.raises(DataLossError, match="came to offset 10, the log ends at 4"):
        lake.export()
    assert lake.export(failOnDataLoss="false") == 0
    lake.append(1)
    assert lake.export() == 1


def test_a_log_without_records(spark: SparkSession, lake: Lake) -> None:
    with Partition(lake.log):
        pass
    assert lake.added() == Added(0)
    assert read_kept(spark, lake.target, lake.table_format).count() == 0


@pytest.mark.parametrize("name", ["startingOffsets", "endingTimestamp", "columns", "view"])
def test_options_that_an_export_has_of_its_own(lake: Lake, name: str) -> None:
    lake.append(1)
    with pytest.raises(LakeError, match=f"option {name}: is not for {lake.table_format}"):
        lake.export(**{name: "latest"})


def test_settings_of_the_session_are_left_as_they_were(spark: SparkSession, lake: Lake) -> None:
    before = spark.conf.get("spark.sql.parquet.outputTimestampType")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        lake.append(2)
        assert lake.export() == 2
        assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert spark.conf.get("spark.sql.parquet.outputTimestampType") == before


def test_import_makes_a_log_of_it(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    lake.append(20)
    lake.export()
    again = str(tmp_path / "again")
    (note,) = import_table(spark, lake.target, again, table_format=lake.table_format)
    assert note.startswith("the table has no batches")
    read, made = records_of(spark, str(lake.log)), records_of(spark, again)
    assert made.count() == 20
    assert made.exceptAll(read).count() == 0


def test_a_table_that_is_not_there(spark: SparkSession, lake: Lake) -> None:
    with pytest.raises(FileNotFoundError, match=re.escape(lake.target)):
        read_export(spark, lake.target, lake.table_format)
