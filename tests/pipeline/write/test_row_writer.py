"""Rows find their topics and partitions, keep their order, and become what a reader gives back."""

from pathlib import Path

import pyarrow as pa
import pytest

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.layout import find_partitions
from broker_lite.pipeline.write.commit import commit
from broker_lite.pipeline.write.options import WriteOptions
from broker_lite.pipeline.write.row_writer import RowWriter, WritePlan
from broker_lite.record.murmur2 import partition_of_key
from broker_lite.record.records import Record, iterate_records
from tests.pipeline.support import T0
from tests.pipeline.write.test_restamp import batches

IO = LocalFileIO()
Columns = dict[str, list[object]]


def write(root: Path, *tasks: list[Columns], **options: str) -> None:
    """Each task's Arrow batches, committed."""
    parsed = WriteOptions.parse({"path": str(root), **options})
    plan = WritePlan.make(IO, str(root), parsed, "job")
    segments = []
    for number, arrow_batches in enumerate(tasks):
        writer = RowWriter(plan, str(number))
        for columns in arrow_batches:
            writer.write(pa.RecordBatch.from_pydict(columns))
        segments += writer.close()
    commit(IO, str(root), segments, base_offset=parsed.base_offset)


def read(root: Path) -> dict[str, list[Record]]:
    return {
        path.name: [
            record
            for log in sorted(path.glob("*.log"))
            for batch in batches(log)
            for record in iterate_records(batch)
        ]
        for path in sorted(root.iterdir())
        if path.is_dir()
    }


def values(root: Path) -> dict[str, list[bytes]]:
    return {name: [bytes(r.value or b"") for r in found] for name, found in read(root).items()}


def test_topics_and_partitions_of_columns(tmp_path: Path) -> None:
    first: Columns = {
        "topic": ["a", "b", "a", "a"],
        "partition": [1, 0, 0, 1],
        "value": [b"1", b"2", b"3", b"4"],
    }
    second: Columns = {"topic": ["a"], "partition": [1], "value": [b"5"]}
    write(tmp_path, [first, second], [second])
    assert values(tmp_path) == {"a-0": [b"3"], "a-1": [b"1", b"4", b"5", b"5"], "b-0": [b"2"]}
    assert [record.offset for record in read(tmp_path)["a-1"]] == [0, 1, 2, 3]


def test_one_topic_by_the_option(tmp_path: Path) -> None:
    write(tmp_path, [{"topic": ["a", None], "value": ["x", "y"]}], topic="chosen")
    assert values(tmp_path) == {"chosen-0": [b"x", b"y"]}


def test_keys_choose_as_kafkas_producer_does(tmp_path: Path) -> None:
    keys = [f"key-{index % 7}".encode() for index in range(50)]
    cells: list[object] = [b"%d" % index for index in range(50)]
    write(tmp_path, [{"key": list(keys), "value": cells}], topic="t", partitions="4")
    expected: dict[str, list[object]] = {}
    for key, cell in zip(keys, cells, strict=True):
        expected.setdefault(f"t-{partition_of_key(key, 4)}", []).append(cell)
    assert values(tmp_path) == expected


def test_without_a_key_partitions_take_turns(tmp_path: Path) -> None:
    arrow_batches: list[Columns] = [{"value": [b"%d" % n, b"x"]} for n in range(3)]
    write(tmp_path, arrow_batches, topic="t", partitions="2")
    assert values(tmp_path) == {"t-0": [b"0", b"x", b"2", b"x"], "t-1": [b"1", b"x"]}


def test_a_partition_that_is_null_is_chosen(tmp_path: Path) -> None:
    columns: Columns = {"value": [b"1", b"2"], "partition": [None, 5], "key": [None, b"k"]}
    write(tmp_path, [columns], topic="t")
    assert values(tmp_path) == {"t-0": [b"1"], "t-5": [b"2"]}


def test_partitions_that_are_there_count(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"t-{number}").mkdir()
    write(tmp_path, [{"key": [b"k"], "value": [b"v"]}], topic="t")
    assert values(tmp_path)[f"t-{partition_of_key(b'k', 4)}"] == [b"v"]


def test_r_13_timestamps(tmp_path: Path) -> None:
    columns: Columns = {"value": [b"1", b"2"], "timestamp": [T0, T0 + 1]}
    write(tmp_path / "create", [columns], topic="t")
    assert [r.timestamp for r in read(tmp_path / "create")["t-0"]] == [T0, T0 + 1]
    write(tmp_path / "append", [columns], topic="t", timestampType="LogAppendTime")
    (path,) = (tmp_path / "append" / "t-0").glob("*.log")
    (batch,) = batches(path)
    assert batch.is_log_append_time
    assert batch.max_timestamp > T0 + 1


def test_offsets_that_are_kept(tmp_path: Path) -> None:
    columns: Columns = {"value": [b"1", b"2"], "offset": [7, 9]}
    write(tmp_path, [columns], topic="t", keepOffsets="true")
    assert [record.offset for record in read(tmp_path)["t-0"]] == [7, 9]
    (log,) = find_partitions(IO, str(tmp_path)).values()
    assert log.segments[0].base_offset == 7


def test_sizes(tmp_path: Path) -> None:
    cells: list[object] = [b"%03d" % index * 10 for index in range(100)]
    write(
        tmp_path,
        [{"value": cells}],
        topic="t",
        segmentBytes="1000",
        batchBytes="300",
    )
    logs = sorted((tmp_path / "t-0").glob("*.log"))
    assert len(logs) > 4
    assert all(log.stat().st_size <= 1000 for log in logs)
    assert values(tmp_path)["t-0"] == cells


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"topic": ["a", None], "value": [b"", b""]}, "a row has no topic"),
        ({"topic": ["a/b"], "value": [b""]}, "1 to 249 letters"),
        ({"topic": ["a"], "value": [b""], "partition": [-1]}, "partition -1 of topic a is below 0"),
    ],
)
def test_rows_that_cannot_be_written(tmp_path: Path, columns: Columns, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        write(tmp_path, [columns])
