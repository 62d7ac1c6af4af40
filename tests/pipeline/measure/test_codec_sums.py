"""Sizes with and without compression, by codec."""

from pathlib import Path

import pytest

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.measure.codec_sums import CodecSums
from broker_lite.pipeline.read.corruption import log_corruption
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.report.data import CodecFacts
from broker_lite.pipeline.views.visible_records import VisibleRecords
from tests.pipeline.support import (
    NewRecord,
    Partition,
    damage,
    legacy_message,
    whole_split,
    write_segment,
)

RECORDS = [NewRecord(b"k", b"v" * 1000, timestamp_ms=0)] * 4


def write_log(root: Path) -> Path:
    with Partition(root) as partition:
        partition.append(RECORDS)
        for _ in range(2):
            partition.append(RECORDS, codec=4)
        partition.append(RECORDS[:1], producer_id=1, is_transactional=True)
        partition.end_transaction(1, commit=True)
        return next(partition.directory.glob("*.log"))


def sums(root: Path) -> CodecSums:
    split, options = whole_split(root), ReadOptions.parse({"path": str(root)})
    visible = VisibleRecords(LocalFileIO(), split, options, log_corruption)
    found = CodecSums(split.topic)
    for one in visible.batches():
        for measured in visible.measured(one):
            found.add(one.batch, measured)
    return found


def sizes(root: Path) -> dict[str, CodecFacts]:
    return {one.codec: one for one in sums(root).facts}


def test_sums_by_codec(tmp_path: Path) -> None:
    write_log(tmp_path)
    found = sizes(tmp_path)
    none, zstd = found["none"], found["zstd"]
    assert (none.topic, none.batches, none.records) == ("topic", 2, 5)  # without the marker
    assert none.stored_bytes == none.plain_bytes
    assert (zstd.batches, zstd.records) == (2, 8)
    assert zstd.plain_bytes > 20 * zstd.stored_bytes
    assert zstd.plain_bytes > 8000


def test_what_is_damaged_is_passed_over(tmp_path: Path) -> None:
    path = write_log(tmp_path)
    damage(path, 100)
    assert sizes(tmp_path)["none"].records == 1


def test_a_table_has_a_row_for_each_codec(tmp_path: Path) -> None:
    write_log(tmp_path)
    rows = sums(tmp_path).table().to_pylist()
    assert sorted(row["codec"] for row in rows) == ["none", "zstd"]
    assert [CodecFacts(**row) for row in rows] == sums(tmp_path).facts


@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages_have_no_plain_size(tmp_path: Path, magic: int) -> None:
    write_segment(tmp_path, legacy_message(0, b"k", b"v", magic=magic))
    assert sums(tmp_path).facts == []
