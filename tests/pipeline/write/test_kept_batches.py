"""R-10, R-12, R-17: batches that are written again keep their headers and their records."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.write.commit import commit
from broker_lite.pipeline.write.encode import BatchEncoder, KeptHeader, Producer
from broker_lite.pipeline.write.kept_batches import KeptBatches, kept_header
from broker_lite.pipeline.write.log_writer import LogWriter, Placement
from broker_lite.pipeline.write.options import WriteOptions
from broker_lite.pipeline.write.record_input import record_input
from broker_lite.pipeline.write.row_writer import RowWriter, WritePlan
from broker_lite.record.codecs.compression import Codec
from broker_lite.record.records import iterate_records
from tests.pipeline.support import T0
from tests.pipeline.write.test_restamp import batches

IO = LocalFileIO()
TOLD: dict[str, Any] = {
    "lastOffset": 9,
    "recordCount": 3,
    "codec": "none",
    "timestampType": 0,
    "isTransactional": False,
    "isControl": False,
    "producerId": -1,
    "producerEpoch": -1,
    "baseSequence": -1,
    "leaderEpoch": 0,
    "baseTimestamp": T0,
    "maxTimestamp": T0 + 99,
    "hasDeleteHorizon": False,
}
_TYPES = {
    int: pa.int64(),
    str: pa.string(),
    bool: pa.bool_(),
}
BATCH = pa.struct([pa.field(name, _TYPES[type(value)]) for name, value in TOLD.items()])
SCHEMA = pa.schema(
    {
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "key": pa.binary(),
        "value": pa.binary(),
        "timestamp": pa.int64(),
        "batch": BATCH,
    }
)


def header_row(offset: int, key: bytes | None = None, **told: Any) -> dict[str, Any]:
    batch = {**TOLD, "lastOffset": offset, **told}
    return row(offset, key) | {"batch": batch}


def row(offset: int, key: bytes | None = b"k", value: bytes | None = b"v") -> dict[str, Any]:
    place = {"topic": "t", "partition": 0, "offset": offset, "timestamp": T0 + offset}
    return {**place, "key": key, "value": value, "batch": None}


def write(root: Path, rows: list[dict[str, Any]], rows_max: int = 2, **options: str) -> Any:
    """Write rows in small Arrow batches, commit them, and read the batches."""
    keeps = {"keepOffsets": "true", "keepBatches": "true"}
    parsed = WriteOptions.parse({"path": str(root), **keeps, **options})
    writer = RowWriter(WritePlan.make(IO, str(root), parsed, "job"), "0")
    table = pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
    for first in range(0, len(rows), rows_max):
        writer.write(table.slice(first, rows_max))
    commit(IO, str(root), writer.close(), gaps_are_compacted=True)
    return [batch for path in sorted(root.glob("t-0/*.log")) for batch in batches(path)]


@pytest.mark.parametrize("rows_max", [1, 2, 100])
def test_r_10_each_batch_has_its_own_header_again(tmp_path: Path, rows_max: int) -> None:
    producer = {"producerId": 7, "producerEpoch": 3, "baseSequence": 40, "isTransactional": True}
    found = write(
        tmp_path,
        [
            header_row(4, lastOffset=8, recordCount=3, codec="zstd", leaderEpoch=2, **producer),
            *map(row, (4, 5, 8)),
            header_row(9, lastOffset=9, leaderEpoch=5, timestampType=1),
            row(9),
        ],
        rows_max,
    )
    first, second = found
    assert all(batch.crc_is_valid() for batch in found)
    assert (first.base_offset, first.last_offset, first.record_count) == (4, 8, 3)
    assert (first.producer_id, first.producer_epoch, first.base_sequence) == (7, 3, 40)
    assert (first.is_transactional, first.codec, first.leader_epoch) == (True, Codec.ZSTD, 2)
    assert (first.base_timestamp, first.max_timestamp) == (T0, T0 + 8)
    assert [record.offset for record in iterate_records(first)] == [4, 5, 8]
    assert (second.is_log_append_time, second.max_timestamp) == (True, T0 + 99)
    assert (second.leader_epoch, second.codec) == (5, Codec.NONE)
    assert (tmp_path / "t-0" / "leader-epoch-checkpoint").read_text() == "0\n2\n2 4\n5 9\n"


def test_r_41_the_row_of_a_control_batch_is_its_record(tmp_path: Path) -> None:
    producer = {"producerId": 7, "producerEpoch": 3, "isTransactional": True}
    marker, abort = {**producer, "isControl": True}, b"\0\0\0\0"
    found = write(
        tmp_path,
        [
            header_row(0, lastOffset=1, recordCount=2, baseSequence=0, **producer),
            *map(row, (0, 1)),
            header_row(2, abort, recordCount=1, **marker) | {"value": bytes(6)},
            header_row(3, recordCount=0, **marker),
        ],
    )
    (record,) = iterate_records(found[1])
    assert (record.key, record.value, found[1].is_control) == (abort, bytes(6), True)
    assert (found[2].record_count, found[2].is_control, found[2].crc_is_valid()) == (0, True, True)
    index = (tmp_path / "t-0" / f"{0:020d}.txnindex").read_bytes()
    assert int.from_bytes(index[2:10], "big") == 7


def test_r_17_a_delete_horizon_and_batches_that_were_emptied(tmp_path: Path) -> None:
    cleaned = {"hasDeleteHorizon": True, "baseTimestamp": T0 + 500}
    found = write(
        tmp_path,
        [
            header_row(0, **cleaned),
            row(0),
            header_row(1, lastOffset=6, recordCount=0, codec="zstd", producerId=5, baseSequence=8),
        ],
    )
    assert (found[0].delete_horizon_ms, found[0].max_timestamp) == (T0 + 500, T0)
    assert (found[1].last_offset, found[1].last_sequence, found[1].codec) == (6, 13, Codec.NONE)
    assert (found[1].size_bytes, found[1].max_timestamp) == (61, T0 + 99)
    checkpoint = tmp_path / "cleaner-offset-checkpoint"
    assert checkpoint.read_text() == "0\n1\nt 0 7\n"


def test_records_without_a_header_get_batches_of_their_own(tmp_path: Path) -> None:
    rows = [row(0), header_row(1, lastOffset=2), row(1), row(2), row(3), row(4)]
    found = write(tmp_path, rows, rows_max=3, compression="lz4")
    assert [(one.base_offset, one.last_offset) for one in found] == [(0, 0), (1, 2), (3, 4)]
    assert {one.codec for one in found} == {Codec.LZ4}, "a codec that was given is for all"
    assert not (tmp_path / "cleaner-offset-checkpoint").exists()


def test_leader_epochs_do_not_fall(tmp_path: Path) -> None:
    found = write(tmp_path, [header_row(0, leaderEpoch=4), row(0), header_row(1), row(1), row(2)])
    assert [one.leader_epoch for one in found] == [4, 4, 4]


def test_a_batch_grows_with_its_records(tmp_path: Path) -> None:
    rows = [header_row(0, lastOffset=299, recordCount=300)]
    rows += [row(offset, value=b"v" * 1000) for offset in range(300)]
    (found,) = write(tmp_path, rows, rows_max=50, batchBytes="2k")
    assert (found.record_count, found.size_bytes > 300_000) == (300, True)
    assert [len(record.value or b"") for record in iterate_records(found)] == [1000] * 300


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ({"producerEpoch": 1 << 15}, "producerEpoch is 32768, not -1 to 32767"),
        ({"recordCount": None}, "recordCount is None, not 0 to"),
        ({"lastOffset": 3}, "lastOffset is 3"),
        ({"lastOffset": 4 + (1 << 31)}, "lastOffset is 2147483652"),
        ({"codec": "5"}, "codec is 5, not one of none, gzip, snappy, lz4, zstd"),
    ],
)
def test_a_header_that_no_batch_has(told: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        kept_header(4, {**TOLD, **told})


def test_the_error_names_the_batch(tmp_path: Path) -> None:
    table = pa.RecordBatch.from_pylist([header_row(0, lastOffset=5), header_row(3)], SCHEMA)
    records = record_input(table, default_timestamp_ms=0, keep_offsets=True)
    writer = LogWriter(IO, Placement(str(tmp_path), "t", 0, "job-0"))
    with pytest.raises(ValueError, match="the batch at offset 3 of t-0: it begins below 6"):
        KeptBatches(BatchEncoder(0), writer, None).append(records, table.column("batch"), 0, 2)
    writer.close()


def test_r_12_the_attributes_of_a_header() -> None:
    header = kept_header(9, TOLD)
    assert (header.flags, header.producer) == (0, Producer())
    flags = ("timestampType", "isTransactional", "isControl", "hasDeleteHorizon")
    found = [kept_header(9, {**TOLD, name: 1}).flags for name in flags]
    assert found == [8, 16, 32, 64]
    assert isinstance(header, KeptHeader)


def test_the_rows_of_batches_are_found_in_slices() -> None:
    """What pyarrow has to give: the validity of a slice is that of its rows."""
    column = pa.array([None, TOLD, None], BATCH).slice(1)
    assert pc.is_valid(column).to_pylist() == [True, False]
