"""What both formats have in common: one commit, or none."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from broker_lite.pipeline.spark.lake.data_files import DataFile, find_data_files
from broker_lite.pipeline.spark.lake.formats import open_or_create_table, open_table
from broker_lite.pipeline.spark.lake.table import LakeError, LakeTable
from broker_lite.pipeline.views.record_schema import record_schema

KEY = ("orders", 0)


@pytest.fixture(params=["delta", "iceberg"])
def table_format(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def written(table: LakeTable, folder: str, offset: int) -> list[DataFile]:
    """Write what Spark would write of one record."""
    row = {"topic": KEY[0], "partition": KEY[1], "offset": offset, "timestamp": 0}
    rows = pa.Table.from_pylist([row], record_schema(include_headers=True))
    path = Path(table.data_place, folder, "by_topic=orders", "by_day=1970-01-01", "1.parquet")
    path.parent.mkdir(parents=True)
    pq.write_table(rows, path)
    return find_data_files(table.data_place, folder)


def test_offsets_come_with_the_files(tmp_path: Path, table_format: str) -> None:
    target = str(tmp_path)
    table = open_or_create_table(target, table_format)
    table.commit(written(table, "1", 0), {}, {KEY: 1, ("other", 3): 7})
    again = open_table(target, table_format)
    assert again.offsets([KEY, ("other", 3), ("new", 0)]) == {KEY: 1, ("other", 3): 7}
    again.commit(written(again, "2", 1), {KEY: 1}, {KEY: 2})
    again = open_table(target, table_format)
    assert again.offsets([KEY, ("other", 3)]) == {KEY: 2, ("other", 3): 7}
    (held,) = again.held()
    assert len(held.paths) == 2
    assert held.topic == ("orders" if table_format == "delta" else None)


def test_the_slower_of_two_exports_adds_nothing(tmp_path: Path, table_format: str) -> None:
    open_or_create_table(str(tmp_path), table_format)
    first, second = (open_table(str(tmp_path), table_format) for _ in range(2))
    first.commit(written(first, "1", 0), {}, {KEY: 1})
    with pytest.raises(LakeError, match="run the export again"):
        second.commit(written(second, "2", 0), {}, {KEY: 1})
    (held,) = open_table(str(tmp_path), table_format).held()
    assert len(held.paths) == 1


def test_offsets_without_files(tmp_path: Path, table_format: str) -> None:
    table = open_or_create_table(str(tmp_path), table_format)
    table.commit([], {}, {KEY: 9})
    assert open_table(str(tmp_path), table_format).offsets([KEY]) == {KEY: 9}
