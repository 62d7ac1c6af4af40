"""An Iceberg table that its own tools have worked on."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo
from pyiceberg.table import Table
from pyspark.sql import SparkSession
from sqlalchemy.pool import QueuePool

from broker_lite.pipeline.spark.jobs.export_lake import export_lake
from broker_lite.pipeline.spark.lake.formats import open_or_create_table
from broker_lite.pipeline.spark.lake.iceberg import (
    CATALOG_NAME,
    OFFSETS,
    OWN_NAME,
    IcebergLake,
)
from broker_lite.pipeline.views.record_schema import record_schema
from tests.pipeline.support import Partition, numbered

KEY = ("orders", 0)
OPENED: list[Catalog] = []


@pytest.fixture(autouse=True)
def catalogs_that_are_closed() -> Iterator[None]:
    """Close what own_table() has opened."""
    yield
    while OPENED:
        OPENED.pop().close()


def append_and_export(spark: SparkSession, folder: Path) -> int:
    with Partition(folder / "log", "orders") as partition:
        partition.append(numbered(10))
    log, target = str(folder / "log"), str(folder / "table")
    return export_lake(spark, log, target, table_format="iceberg").records


def own_table(target: Path) -> Table:
    uri = f"sqlite:///{target}/catalog.db"
    catalog = load_catalog(CATALOG_NAME, type="sql", uri=uri, warehouse=str(target))
    OPENED.append(catalog)
    return catalog.load_table(OWN_NAME)


def kept_connections(lake: IcebergLake) -> int:
    catalog = lake._table.catalog
    assert isinstance(catalog, SqlCatalog)
    pool = catalog.engine.pool
    assert isinstance(pool, QueuePool)
    return pool.checkedin()


def other_writer(target: Path) -> Table:
    """Let somebody else add one record of another topic: a snapshot without offsets."""
    row = {"topic": "other", "partition": 0, "offset": 0, "timestamp": 0}
    path = target / "data" / "other.parquet"
    pq.write_table(pa.Table.from_pylist([row], record_schema(include_headers=True)), path)
    table = own_table(target)
    table.add_files([str(path)])
    return table


def test_what_a_reader_of_iceberg_sees(spark: SparkSession, tmp_path: Path) -> None:
    append_and_export(spark, tmp_path)
    table = own_table(tmp_path / "table")
    told = table.current_snapshot()
    assert told is not None
    assert told.summary is not None
    assert json.loads(told.summary.additional_properties[OFFSETS]) == {"orders": {"0": 10}}
    wanted = table.scan(EqualTo("topic", "orders")).to_arrow()
    assert sorted(wanted["offset"].to_pylist()) == list(range(10))
    assert wanted["timestamp"][0].as_py() == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert table.scan(EqualTo("topic", "other")).to_arrow().num_rows == 0


def test_no_connection_stays_open(spark: SparkSession, tmp_path: Path) -> None:
    append_and_export(spark, tmp_path)
    target = str(tmp_path / "table")
    for opened in (IcebergLake.open, IcebergLake.open_or_create):
        lake = opened(target)
        assert kept_connections(lake) == 0
        lake.commit([], lake.offsets([KEY]), {KEY: lake.offsets([KEY])[KEY] + 1})
        assert kept_connections(lake) == 0


def test_snapshots_of_others(spark: SparkSession, tmp_path: Path) -> None:
    append_and_export(spark, tmp_path)
    other_writer(tmp_path / "table")
    lake = IcebergLake.open(str(tmp_path / "table"))
    assert lake.offsets([KEY]) == {KEY: 10}
    assert append_and_export(spark, tmp_path) == 10
    assert own_table(tmp_path / "table").scan().count() == 21


def test_a_rollback_to_the_time_before_all_exports(spark: SparkSession, tmp_path: Path) -> None:
    open_or_create_table(str(tmp_path / "table"), "iceberg")
    (tmp_path / "table" / "data").mkdir()
    before = other_writer(tmp_path / "table").current_snapshot()
    assert before is not None
    assert append_and_export(spark, tmp_path) == 10
    table = own_table(tmp_path / "table")
    table.manage_snapshots().rollback_to_snapshot(before.snapshot_id).commit()
    assert append_and_export(spark, tmp_path) == 20


def test_a_snapshot_of_others_between_read_and_commit(spark: SparkSession, tmp_path: Path) -> None:
    append_and_export(spark, tmp_path)
    lake = IcebergLake.open(str(tmp_path / "table"))
    other_writer(tmp_path / "table")
    lake.commit([], {KEY: 10}, {KEY: 12})
    again = IcebergLake.open(str(tmp_path / "table"))
    assert again.offsets([KEY]) == {KEY: 12}
    assert own_table(tmp_path / "table").scan().count() == 11


def test_offsets_outlive_their_snapshot(spark: SparkSession, tmp_path: Path) -> None:
    append_and_export(spark, tmp_path)
    exported = own_table(tmp_path / "table").current_snapshot()
    assert exported is not None
    table = other_writer(tmp_path / "table")
    table.maintenance.expire_snapshots().by_id(exported.snapshot_id).commit()
    assert IcebergLake.open(str(tmp_path / "table")).offsets([KEY]) == {KEY: 10}


def test_a_rollback_takes_the_offsets_back(spark: SparkSession, tmp_path: Path) -> None:
    append_and_export(spark, tmp_path)
    table = own_table(tmp_path / "table")
    before = table.current_snapshot()
    assert before is not None
    assert append_and_export(spark, tmp_path) == 10
    table = own_table(tmp_path / "table")
    table.manage_snapshots().rollback_to_snapshot(before.snapshot_id).commit()
    assert append_and_export(spark, tmp_path) == 20
    assert own_table(tmp_path / "table").scan().count() == 30


@pytest.mark.parametrize("name", ["catalog.db", "metadata"])
def test_the_folder_has_all_of_the_table(spark: SparkSession, tmp_path: Path, name: str) -> None:
    append_and_export(spark, tmp_path)
    assert (tmp_path / "table" / name).exists()
