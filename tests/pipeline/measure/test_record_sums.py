"""What records add up to."""

from pathlib import Path

import pyarrow as pa
import pytest

from broker_lite.pipeline.measure.record_sums import (
    FORMS,
    OTHERS,
    added,
    by_bucket,
    record_sums,
)
from broker_lite.pipeline.measure.sums import Tables, add_up
from broker_lite.pipeline.read.corruption import CorruptLog
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.stream.planned import plan_query
from tests.pipeline.stream_support import delete_segments_below
from tests.pipeline.support import NewRecord, Partition, damage, numbered


def sums(root: Path, **given: str) -> Tables:
    options = ReadOptions.parse({"path": str(root), "view": "batches", **given})
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
    others, *buckets = by_bucket(3, found)
    assert others[0] == OTHERS
    assert others[1].keys() == {"codecs", "key_sizes", "value_sizes"}
    assert [number for number, _ in buckets] == [0, 1, 2]
    assert counts(add_up(FORMS, (tables for _, tables in buckets))) == counts(found)
    assert sum(tables["keys"].num_rows for _, tables in buckets) == 4
    assert [*by_bucket(3, {})] == [(OTHERS, {})]


def test_sums_wait_until_they_are_as_many_as_those_before() -> None:
    def task(*keys: bytes) -> Tables:
        return {
            "keys": pa.table({"topic": ["t"] * len(keys), "key": keys, "records": [1] * len(keys)})
        }

    kept = [task(b"a", b"b", b"c", b"d")]
    assert added(kept, task(b"a", b"e")) is kept
    assert len(kept) == 2
    added(kept, task(b"f", b"a"))
    assert len(kept) == 1
    assert counts(kept[0]) == {b"a": 3, **dict.fromkeys((b"b", b"c", b"d", b"e", b"f"), 1)}
    assert len(added(kept, {})) == 2
    assert counts(add_up(FORMS, kept)) == counts(kept[0])


def test_damage_is_told_once_and_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_log(tmp_path)
    damage(next((tmp_path / "t-0").glob("*.log")), 100)
    caplog.set_level("WARNING", "broker_lite.pipeline")
    found = sums(tmp_path, onCorrupt="skip")
    assert counts(found) == {b"a": 1, b"long key": 1}
    assert [row["codec"] for row in found["codecs"].to_pylist()] == ["none"]
    assert [record.message.partition(" ")[0] for record in caplog.records] == ["corrupt"]
    with pytest.raises(CorruptLog):
        sums(tmp_path)


def test_a_batch_is_counted_in_one_split(tmp_path: Path) -> None:
    with Partition(tmp_path, "t") as log:
        for first in range(0, 500, 10):
            log.append(numbered(10, first=first), codec=2)
    options = ReadOptions.parse({"path": str(tmp_path), "view": "batches", "maxSplitBytes": "500"})
    splits = plan_query(options)
    assert len(splits) > 3
    (codec,) = record_sums(options, splits)["codecs"].to_pylist()
    assert (codec["batches"], codec["records"]) == (50, 500)


def test_a_segment_that_is_deleted_between_the_plan_and_the_read(tmp_path: Path) -> None:
    with Partition(tmp_path, "t", segment_bytes=500) as log:
        for first in range(0, 100, 10):
            log.append(numbered(10, first=first))
    given = {"path": str(tmp_path), "view": "batches", "failOnDataLoss": "false"}
    options = ReadOptions.parse(given)
    splits = plan_query(options)
    delete_segments_below(tmp_path / "t-0", 50)
    (codec,) = record_sums(options, splits)["codecs"].to_pylist()
    assert 0 < codec["records"] < 100
