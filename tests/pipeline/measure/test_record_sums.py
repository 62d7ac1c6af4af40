"""What records add up to."""

from pathlib import Path

from broker_lite.pipeline.measure.record_sums import (
    KEYS,
    keys_by_bucket,
    record_sums,
    without_keys,
)
from broker_lite.pipeline.measure.sums import Tables
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.stream.planned import plan_query
from tests.pipeline.support import NewRecord, Partition


def sums(root: Path) -> Tables:
    options = ReadOptions.parse({"path": str(root), "view": "batches"})
    return record_sums(options, plan_query(options))


def write_log(root: Path) -> None:
    with Partition(root, "t", 0) as log:
        log.append([NewRecord(key, b"v" * 100) for key in (b"a", b"b", b"a", None)], codec=4)
    with Partition(root, "t", 1) as log:
        log.append([NewRecord(b"a", None), NewRecord(b"long key", b"")])


def counts(tables: Tables) -> dict[bytes | None, int]:
    return {row["key"]: row["records"] for row in tables["keys"].to_pylist()}


def test_sizes_codecs_and_keys(tmp_path: Path) -> None:
    write_log(tmp_path)
    found = sums(tmp_path)
    assert counts(found) == {b"a": 3, b"b": 1, None: 1, b"long key": 1}
    sizes = {row["size"]: row["number"] for row in found["key_sizes"].to_pylist()}
    assert sizes == {1: 4, 8: 1}
    sizes = {row["size"]: row["number"] for row in found["value_sizes"].to_pylist()}
    assert sizes == {0: 1, 128: 4}
    codecs = {row["codec"]: row for row in found["codecs"].to_pylist()}
    assert {name: row["records"] for name, row in codecs.items()} == {"zstd": 4, "none": 2}
    assert codecs["zstd"]["plain_bytes"] > codecs["zstd"]["stored_bytes"]


def test_a_key_is_in_one_bucket(tmp_path: Path) -> None:
    write_log(tmp_path)
    found = sums(tmp_path)
    buckets = [*keys_by_bucket(3, found)]
    assert [number for number, _ in buckets] == [0, 1, 2]
    assert counts({"keys": KEYS.of(*(table for _, table in buckets))}) == counts(found)
    assert sum(table.num_rows for _, table in buckets) == 4
    assert [*keys_by_bucket(3, {})] == []
    assert without_keys(found).keys() == {"codecs", "key_sizes", "value_sizes"}
