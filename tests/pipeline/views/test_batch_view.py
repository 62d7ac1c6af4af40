"""The batch view: what the headers say, and what is damaged."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.read.corruption import CorruptLog
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.views.batch_view import ROWS_MAX, batch_rows, batch_schema
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.compression import Codec
from tests.log.batches import batch as raw_batch
from tests.pipeline.mixed_log import emptied_batch
from tests.pipeline.support import (
    T0,
    Partition,
    damage,
    legacy_message,
    legacy_wrapper,
    numbered,
    whole_split,
    write_segment,
)

IO = LocalFileIO()
TIME = datetime.fromtimestamp(T0 / 1000, UTC)


def arrow(split: Split, rows_max: int = ROWS_MAX, **given: str) -> list[pa.RecordBatch]:
    options = ReadOptions.parse({"path": "/", "view": "batches"} | given)
    found = list(batch_rows(IO, split, options, rows_max=rows_max))
    for arrow_batch in found:
        arrow_batch.validate(full=True)
        assert arrow_batch.schema == batch_schema(options.columns)
    return found


def read(split: Split, **given: str) -> list[dict[str, Any]]:
    return [row for arrow_batch in arrow(split, **given) for row in arrow_batch.to_pylist()]


def test_a_row_says_what_the_header_says(tmp_path: Path) -> None:
    with Partition(tmp_path, "some", 4) as partition:
        partition.append(numbered(2))
        partition.append(numbered(3), codec=Codec.ZSTD, producer_id=7, is_transactional=True)
        partition.end_transaction(7, commit=True)
        partition.roll()
        partition.append(numbered(1), log_append_time_ms=T0 + 9)
    plain, transactional, marker, appended = read(whole_split(tmp_path))
    assert plain == {
        "topic": "some",
        "partition": 4,
        "segment": 0,
        "position": 0,
        "sizeInBytes": transactional["position"],
        "baseOffset": 0,
        "lastOffset": 1,
        "recordCount": 2,
        "magic": 2,
        "codec": "none",
        "timestampType": 0,
        "isTransactional": False,
        "isControl": False,
        "producerId": -1,
        "producerEpoch": -1,
        "baseSequence": -1,
        "partitionLeaderEpoch": 0,
        "baseTimestamp": TIME,
        "maxTimestamp": TIME + timedelta(milliseconds=1),
        "deleteHorizon": None,
        "crc": plain["crc"],
        "controlType": None,
        "controlValue": None,
        "crcValid": True,
        "error": None,
    }
    assert (transactional["codec"], transactional["isTransactional"]) == ("zstd", True)
    assert (transactional["producerId"], transactional["baseSequence"]) == (7, 0)
    assert (marker["isControl"], marker["recordCount"]) == (True, 1)
    assert (marker["controlType"], marker["controlValue"]) == ("COMMIT", bytes(6))
    assert (appended["segment"], appended["position"], appended["baseOffset"]) == (6, 0, 6)
    assert (appended["timestampType"], appended["maxTimestamp"]) == (
        1,
        TIME + timedelta(milliseconds=9),
    )


@pytest.mark.parametrize("columns", [("crcValid",), ("topic", "codec"), ("error", "baseOffset")])
def test_only_some_columns(tmp_path: Path, columns: tuple[str, ...]) -> None:
    with Partition(tmp_path) as partition:
        partition.append(numbered(2))
    (found,) = arrow(whole_split(tmp_path), columns=",".join(columns))
    (everything,) = arrow(whole_split(tmp_path))
    assert found == everything.select(columns)


def test_arrow_batches_are_bounded(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        for _ in range(7):
            partition.append(numbered(1))
    assert [one.num_rows for one in arrow(whole_split(tmp_path), 3)] == [3, 3, 1]
    assert arrow(whole_split(tmp_path, first_offset=7)) == []


def test_r_63_r_70_what_old_messages_do_not_say(tmp_path: Path) -> None:
    write_segment(
        tmp_path,
        legacy_message(0, b"k", b"v", magic=0)
        + legacy_wrapper(2, [legacy_message(at, None, b"v") for at in (0, 1)], attributes=8),
    )
    message, wrapper = read(whole_split(tmp_path))
    assert (message["magic"], message["timestampType"], message["maxTimestamp"]) == (0, -1, None)
    assert (message["baseOffset"], message["recordCount"], message["codec"]) == (0, 1, "none")
    assert (wrapper["baseOffset"], wrapper["recordCount"], wrapper["codec"]) == (None, None, "gzip")
    assert (wrapper["lastOffset"], wrapper["timestampType"], wrapper["producerId"]) == (2, 1, -1)
    assert (wrapper["maxTimestamp"], wrapper["crcValid"]) == (TIME, True)


@pytest.mark.parametrize(
    ("timestamp_ms", "told"),
    [(-1, None), (0, datetime(1970, 1, 1, tzinfo=UTC)), ((2**63 - 1) // 1000 + 1, None)],
)
def test_timestamps(tmp_path: Path, timestamp_ms: int, told: datetime | None) -> None:
    builder = BatchBuilder()
    builder.append(timestamp_ms, None, None)
    write_segment(tmp_path, builder.build())
    (row,) = read(whole_split(tmp_path))
    assert (row["baseTimestamp"], row["maxTimestamp"]) == (told, told)


def test_a_codec_that_there_is_not(tmp_path: Path) -> None:
    write_segment(tmp_path, raw_batch(b"", attributes=6))
    assert read(whole_split(tmp_path))[0]["codec"] == "6"


class TestDamage:
    """The second and the third batch of five; entries of the index lead to all but the first."""

    SIZE_BYTES = 431

    @pytest.fixture
    def split(self, tmp_path: Path) -> Split:
        with Partition(tmp_path, index_interval_bytes=10) as partition:
            for number in range(5):
                partition.append(numbered(10, first=number * 10))
        (path,) = partition.directory.glob("*.log")
        damage(path, self.SIZE_BYTES + 100)
        damage(path, 2 * self.SIZE_BYTES + 16)
        return whole_split(tmp_path, end_offset=50)

    def test_report_has_rows_for_it(self, split: Split) -> None:
        found = read(split, onCorrupt="report")
        assert [row["position"] for row in found] == [n * self.SIZE_BYTES for n in range(5)]
        assert [row["baseOffset"] for row in found] == [0, 10, None, 30, 40]
        assert [row["crcValid"] for row in found] == [True, False, None, True, True]
        wrong = f"R-06: wrong checksum of a batch of {self.SIZE_BYTES} bytes, with offsets 10 to 19"
        no_batch = "R-02: magic -3, with offsets 20 to 29"
        assert [row["error"] for row in found] == [None, wrong, no_batch, None, None]
        assert {row["segment"] for row in found} == {0}

    def test_skip_leaves_it_out(self, split: Split) -> None:
        assert [row["baseOffset"] for row in read(split, onCorrupt="skip")] == [0, 30, 40]

    def test_fail_ends_the_read(self, split: Split) -> None:
        with pytest.raises(CorruptLog, match=f"at {self.SIZE_BYTES}: R-06"):
            read(split)

    def test_without_checksums_only_what_is_no_batch(self, split: Split) -> None:
        found = read(split, onCorrupt="report", checkCrc="false")
        no_batch = "R-02: magic -3, with offsets 20 to 29"
        assert [row["error"] for row in found] == [None, None, no_batch, None, None]
        assert {row["crcValid"] for row in found} == {None}

    def test_damage_at_the_end(self, tmp_path: Path) -> None:
        path = write_segment(tmp_path, raw_batch(b"") + raw_batch(b"", base_offset=1)[:-1])
        first, last = read(whole_split(tmp_path, end_offset=2), onCorrupt="report")
        assert first["error"] is None
        assert last["error"] == "R-04: a batch is cut off after 60 bytes, with offsets 1 to 1"
        assert last["position"] == path.stat().st_size - 60


def test_a_vanished_segment_by_failOnDataLoss(tmp_path: Path) -> None:
    path = write_segment(tmp_path, raw_batch(b""))
    split = whole_split(tmp_path)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        read(split)
    assert read(split, failOnDataLoss="false") == []


def test_r_17_r_42_what_a_cleaner_leaves_and_what_no_version_knows(tmp_path: Path) -> None:
    builders = [
        BatchBuilder(base_offset=0, delete_horizon_ms=T0 + 7),
        BatchBuilder(base_offset=1, is_control=True),
        BatchBuilder(base_offset=2, is_control=True),
    ]
    for builder, key in zip(builders, (b"k", b"\0\0\0\x63", b"\0"), strict=True):
        builder.append(T0, key, b"v")
    write_segment(tmp_path, b"".join(one.build() for one in builders) + emptied_batch(3, 4))
    cleaned, unknown, short, emptied = read(whole_split(tmp_path))
    assert cleaned["deleteHorizon"] == TIME + timedelta(milliseconds=7)
    assert (unknown["controlType"], unknown["controlValue"]) == ("UNKNOWN", b"v")
    assert (short["controlType"], short["controlValue"]) == (None, None)
    assert (emptied["recordCount"], emptied["controlType"]) == (0, None)
