from pathlib import Path

import pytest

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.read.corruption import Corruption, raise_corruption
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.views.visible_records import VisibleRecords
from broker_lite.record.batch import RecordBatch
from tests.pipeline.support import Partition, legacy_message, numbered, whole_split, write_segment

IO = LocalFileIO()


def counts(root: Path, found: list[Corruption] | None = None, **given: str) -> list[list[int]]:
    """How many records are seen of each batch, by the runs of one timestamp type."""
    options = ReadOptions.parse({"path": str(root), **given})
    on_corrupt = raise_corruption if found is None else found.append
    visible = VisibleRecords(IO, whole_split(root), options, on_corrupt)
    return [[one.totals[0] for one in visible.measured(each)] for each in visible.batches()]


@pytest.fixture
def transactions(tmp_path: Path) -> Path:
    with Partition(tmp_path) as partition:
        partition.append(numbered(3), producer_id=1, is_transactional=True)
        partition.end_transaction(1, commit=False)
        partition.append(numbered(4))
        partition.append(numbered(5), producer_id=2, is_transactional=True)
        partition.end_transaction(2, commit=True)
    return tmp_path


def test_markers_are_not_seen(transactions: Path) -> None:
    assert counts(transactions) == [[3], [], [4], [5], []]


def test_aborted_records_are_not_seen_by_who_reads_committed_ones(transactions: Path) -> None:
    found = counts(transactions, isolationLevel="read_committed")
    assert found == [[], [], [4], [5], []]


def test_what_is_hidden(transactions: Path) -> None:
    options = ReadOptions.parse({"path": "/", "isolationLevel": "read_committed"})
    visible = VisibleRecords(IO, whole_split(transactions), options, raise_corruption)
    batches = [each.batch for each in visible.batches()]
    hidden = [visible.hides(batch) for batch in batches if isinstance(batch, RecordBatch)]
    assert hidden == [True, True, False, False, True]


def test_old_messages(tmp_path: Path) -> None:
    write_segment(tmp_path, legacy_message(0, b"k", b"v") + legacy_message(1, None, None, magic=0))
    assert counts(tmp_path) == [[1], [1]]


def test_a_batch_with_a_damaged_record_is_left_out_as_a_whole(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        partition.append(numbered(3))
        partition.append(numbered(3))
    path = next(tmp_path.rglob("*.log"))
    data = bytearray(path.read_bytes())
    data[61] = 0x01  # the length of its first record
    path.write_bytes(data)
    found: list[Corruption] = []
    assert counts(tmp_path, found, checkCrc="false") == [[], [3]]
    assert [one.rule for one in found] == ["R-37"]
