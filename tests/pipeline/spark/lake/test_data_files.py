"""The files of an export: where they are, and what their footers tell."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from broker_lite.pipeline.spark.lake.data_files import find_data_files, remove_data_files


def write(path: Path, **columns: pa.Array) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, row_group_size=2)


def test_files_with_their_statistics(tmp_path: Path) -> None:
    folder = tmp_path / "run 1" / "by_topic=a.b" / "by_day=2026-01-31"
    headers = pa.array([[{"key": "k"}], None, None])
    write(folder / "1.parquet", offset=pa.array([7, 3, None]), headers=headers)
    (tmp_path / "run 1" / "_SUCCESS").touch()
    write(tmp_path / "other" / "by_topic=x" / "by_day=y" / "1.parquet", offset=pa.array([1]))
    (found,) = find_data_files(str(tmp_path), "run 1")
    assert found.path == "run 1/by_topic=a.b/by_day=2026-01-31/1.parquet"
    assert (found.topic, found.day, found.record_count) == ("a.b", "2026-01-31", 3)
    assert found.size_bytes == (folder / "1.parquet").stat().st_size
    assert (found.lows, found.highs, found.nulls) == ({"offset": 3}, {"offset": 7}, {"offset": 1})
    write(folder / "1.parquet", offset=pa.array([7, 3, 9]))
    (found,) = find_data_files(str(tmp_path), "run 1")
    assert (found.lows, found.highs, found.nulls) == ({"offset": 3}, {"offset": 9}, {"offset": 0})


def test_records_without_a_day(tmp_path: Path) -> None:
    name = "by_day=__HIVE_DEFAULT_PARTITION__"
    write(tmp_path / "run" / "by_topic=a" / name / "1.parquet", offset=pa.array([1]))
    (found,) = find_data_files(str(tmp_path), "run")
    assert found.day is None


def test_a_folder_that_is_removed(tmp_path: Path) -> None:
    write(tmp_path / "run" / "by_topic=a" / "by_day=b" / "1.parquet", offset=pa.array([1]))
    for _ in range(2):
        remove_data_files(str(tmp_path / "run"))
        assert find_data_files(str(tmp_path), "run") == []
