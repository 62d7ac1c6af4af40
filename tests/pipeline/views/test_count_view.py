"""Counts are held equal to the record view, record by record, over all kinds of logs."""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.read.corruption import CorruptLog
from broker_lite.pipeline.read.counting import GROUPS, MEASURES, Counting
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.plan import plan
from broker_lite.pipeline.views import count_view
from broker_lite.pipeline.views.count_view import count_batches, count_schema
from broker_lite.pipeline.views.record_columns import TimestampOutOfRange
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.murmur2 import partition_of_key
from tests.pipeline.mixed_log import write_mixed_log
from tests.pipeline.reading import read
from tests.pipeline.support import (
    T0,
    NewRecord,
    Partition,
    Row,
    damage,
    legacy_message,
    legacy_wrapper,
    numbered,
    whole_split,
    write_segment,
)

IO = LocalFileIO()
BUCKET_MS, HASHES = 7, 3
SIZES = {"timeBucket": {"bucketMs": str(BUCKET_MS)}, "keyHash": {"keyHashes": str(HASHES)}}
HEADERS_TELL = "records,minOffset,maxOffset"

Groups = dict[tuple[Any, ...], tuple[Any, ...]]


def options(root: Path, by: str, measures: str = "", **given: str) -> ReadOptions:
    counting: dict[str, str | None] = {"countBy": by}
    if measures:
        counting["measures"] = measures
    for name in by.split(","):
        counting.update(SIZES.get(name, {}))
    parsed = ReadOptions.parse({"path": str(root), **given})
    return replace(parsed, counting=Counting.parse(counting))


def counted(wanted: ReadOptions, **limits: int) -> Groups:
    """The groups of all splits, added up; each Arrow batch has the schema."""
    found: defaultdict[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
    assert wanted.counting is not None
    groups = len(wanted.counting.by)
    for split in plan(IO, wanted.path, wanted):
        for batch in count_batches(IO, split, wanted, **limits):
            batch.validate(full=True)
            assert batch.schema == count_schema(wanted)
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                found[row[:groups]].append(row[groups:])
    totals = [_TOTALS.get(name[:3], sum) for name in wanted.counting.measures]
    return {
        group: tuple(
            total(values) for total, values in zip(totals, zip(*rows, strict=True), strict=True)
        )
        for group, rows in found.items()
    }


_TOTALS: dict[str, Any] = {"min": min, "max": max}


def simply(rows: list[Row], by: str, measures: str) -> Groups:
    """The same from the rows of the record view."""
    groups: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(_GROUPS[name](row) for name in by.split(",") if name)].append(row)
    return {
        group: tuple(_MEASURES[name](found) for name in measures.split(","))
        for group, found in groups.items()
    }


def at(ms: int) -> Any:
    return count_view.pa.scalar(ms, count_view.pa.timestamp("ms", tz="UTC")).as_py()


_GROUPS: dict[str, Any] = {
    "topic": lambda row: row.topic,
    "partition": lambda row: row.partition,
    "timeBucket": lambda row: at(row.timestamp_ms // BUCKET_MS * BUCKET_MS),
    "keyHash": lambda row: None if row.key is None else partition_of_key(row.key, HASHES),
}
_MEASURES: dict[str, Any] = {
    "records": len,
    "keys": lambda rows: sum(row.key is not None for row in rows),
    "keyBytes": lambda rows: sum(len(row.key or b"") for row in rows),
    "values": lambda rows: sum(row.value is not None for row in rows),
    "valueBytes": lambda rows: sum(len(row.value or b"") for row in rows),
    "minOffset": lambda rows: min(row.offset for row in rows),
    "maxOffset": lambda rows: max(row.offset for row in rows),
    "minTimestamp": lambda rows: at(min(row.timestamp_ms for row in rows)),
    "maxTimestamp": lambda rows: at(max(row.timestamp_ms for row in rows)),
}


def rows_of(wanted: ReadOptions, **given: str) -> list[Row]:
    return [row for split in plan(IO, wanted.path, wanted) for row in read(split, **given)]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Transactions, gaps, all codecs, both timestamp types, null and empty keys, old messages."""
    root = write_mixed_log(tmp_path_factory.mktemp("logs"))
    with Partition(root, "codecs", segment_bytes=9000) as partition:
        for codec in range(5):
            partition.append(numbered(100, first=codec), codec=codec)
            partition.append(numbered(30), codec=codec, log_append_time_ms=T0 + codec)
    old = [legacy_message(offset, b"k%d" % offset, b"v") for offset in range(4)]
    older = legacy_message(4, None, None, magic=0)
    data = b"".join([*old, older, legacy_wrapper(6, [legacy_message(0, b"a", b"b")] * 2)])
    write_segment(root, data, topic="old")
    return root


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
@pytest.mark.parametrize("measures", [",".join(MEASURES), "records", HEADERS_TELL])
@pytest.mark.parametrize("by", ["topic,partition", "", "timeBucket", "keyHash,topic", "all"])
def test_counts_are_those_of_the_record_view(
    root: Path, by: str, measures: str, isolation: str
) -> None:
    by = ",".join(GROUPS) if by == "all" else by
    for given in ({}, {"maxSplitBytes": "3000"}, {"minPartitions": "29"}, {"checkCrc": "false"}):
        wanted = options(root, by, measures, isolationLevel=isolation, **given)
        rows = rows_of(wanted, isolationLevel=isolation)
        assert counted(wanted) == simply(rows, by, measures)


def test_more_groups_than_fit_into_the_memory(root: Path) -> None:
    by, measures = "timeBucket,keyHash", ",".join(MEASURES)
    wanted = options(root, by, measures)
    for slots_max in (1, 4, 30):
        assert counted(wanted, slots_max=slots_max) == simply(rows_of(wanted), by, measures)


def test_offsets_that_were_asked_for(root: Path) -> None:
    offsets = '{"codecs": {"0": %d}}'
    given = {"subscribe": "codecs", "startingOffsets": offsets % 50, "endingOffsets": offsets % 333}
    wanted = options(root, "topic", HEADERS_TELL, **given)
    assert counted(wanted) == {("codecs",): (283, 50, 332)}


def test_headers_alone_are_read_for_counts_and_offsets(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("a record was read")

    monkeypatch.setattr(count_view.VisibleRecords, "measured", never)
    wanted = options(root, "topic", HEADERS_TELL, subscribe="codecs,appended")
    assert counted(wanted) == {("codecs",): (650, 0, 649), ("appended",): (6, 0, 5)}
    with pytest.raises(AssertionError, match="a record was read"):
        counted(options(root, "topic", HEADERS_TELL, subscribe="cleaned"))
    with pytest.raises(AssertionError, match="a record was read"):
        counted(options(root, "topic", HEADERS_TELL, subscribe="codecs", checkCrc="false"))


@pytest.mark.parametrize("measures", ["records", "valueBytes"])
def test_damage(tmp_path: Path, measures: str) -> None:
    with Partition(tmp_path) as partition:
        for _ in range(3):
            partition.append(numbered(10, value_bytes=20))
    damage(next(tmp_path.rglob("*.log")), 100)
    with pytest.raises(CorruptLog, match="wrong checksum"):
        counted(options(tmp_path, "topic", measures))
    found = counted(options(tmp_path, "topic", measures, onCorrupt="skip"))
    assert found == {("topic",): (20 if measures == "records" else 400,)}


def test_a_timestamp_that_is_too_late(tmp_path: Path) -> None:
    builder = BatchBuilder()
    builder.append(2**62, b"k", b"v")
    write_segment(tmp_path, builder.build())
    split = whole_split(tmp_path)
    with pytest.raises(TimestampOutOfRange, match="topic-0: between the offsets 0 and"):
        list(count_batches(IO, split, options(tmp_path, "topic")))
    batch = next(count_batches(IO, split, options(tmp_path, "topic", "records")))
    assert batch.to_pylist() == [{"topic": "topic", "records": 1}]


def test_nothing_to_count(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        partition.append([NewRecord()], producer_id=1, is_transactional=True)
        partition.end_transaction(1, commit=False)
    assert counted(options(tmp_path, "", isolationLevel="read_committed")) == {}
