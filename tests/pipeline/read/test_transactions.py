"""F-14, S-16, S-17, V-64: open and aborted transactions, told by the files of a log."""

from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.layout import PartitionLog, find_partitions
from broker_lite.pipeline.read.batches import read_batches
from broker_lite.pipeline.read.corruption import Corruption, CorruptLog, raise_corruption
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.plan import plan
from broker_lite.pipeline.read.transactions import AbortedRanges, find_aborted, last_stable_offset
from broker_lite.pipeline.views.record_view import record_batches
from broker_lite.record.batch import HEADER, RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.crc import crc32c
from tests.pipeline.support import Partition, cut, damage, numbered, whole_split

IO = LocalFileIO()


def log_of(root: Path) -> PartitionLog:
    (found,) = find_partitions(IO, str(root)).values()
    return found


def stable(root: Path, end_offset: int) -> int:
    return last_stable_offset(IO, log_of(root), end_offset, on_corrupt=raise_corruption)


def committed(root: Path, *, end: str = "latest") -> list[int]:
    """Offsets of a planned read of committed records."""
    options = ReadOptions.parse(
        {
            "path": str(root),
            "columns": "offset",
            "isolationLevel": "read_committed",
            "endingOffsets": end,
        }
    )
    return [
        offset
        for split in plan(IO, str(root), options)
        for arrow_batch in record_batches(IO, split, options)
        for offset in arrow_batch["offset"].to_pylist()
    ]


def append(partition: Partition, producer_id: int, count: int = 2) -> int:
    return partition.append(numbered(count), producer_id=producer_id, is_transactional=True)


@pytest.fixture
def partition(tmp_path: Path) -> Partition:
    """Offsets 0, 1 plain; 2, 3 of 7, aborted at 4; roll; 5, 6 of 8, open; 7, 8 of 9, ended at 9."""
    with Partition(tmp_path) as written:
        written.append(numbered(2))
        append(written, 7)
        written.end_transaction(7, commit=False)
        written.roll()
        append(written, 8)
        append(written, 9)
        written.end_transaction(9, commit=True)
        written.roll()
        append(written, 7)
    return written


def test_v_64_what_was_decided_before_is_not_looked_at_again(partition: Partition) -> None:
    root = partition.directory.parent
    log = log_of(root)
    for end_offset in range(13):
        answer = last_stable_offset(IO, log, end_offset, on_corrupt=raise_corruption)
        for decided in range(min(answer, end_offset) + 1):
            found = last_stable_offset(
                IO, log, end_offset, on_corrupt=raise_corruption, decided_below=decided
            )
            assert found == answer, (end_offset, decided)


def test_v_64_what_was_appended_since_the_listing_may_be_open(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        partition.append(numbered(2))
        listed = log_of(tmp_path)
        append(partition, 7)
        assert last_stable_offset(IO, listed, 4, on_corrupt=raise_corruption) == 2


def test_v_64_a_log_is_stable_up_to_its_oldest_open_transaction(partition: Partition) -> None:
    root = partition.directory.parent
    assert stable(root, 12) == 5
    assert committed(root) == [0, 1]


def test_v_64_without_one_up_to_its_end(tmp_path: Path) -> None:
    with Partition(tmp_path) as written:
        append(written, 7)
        written.end_transaction(7, commit=True)
        written.append(numbered(2))
    assert stable(tmp_path, 5) == 5
    assert committed(tmp_path) == [0, 1, 3, 4]


def test_v_64_what_is_behind_the_end_does_not_count(partition: Partition) -> None:
    assert stable(partition.directory.parent, 5) == 5


@pytest.mark.parametrize("kind", ["damaged", "gone", "vanished"])
def test_s_17_an_older_snapshot_or_none_does_too(partition: Partition, kind: str) -> None:
    log = log_of(partition.directory.parent)
    for path in partition.directory.glob("*.snapshot"):
        if kind == "damaged":
            damage(path, 5)
        else:
            path.unlink()
    if kind == "gone":
        log = log_of(partition.directory.parent)
    assert last_stable_offset(IO, log, 12, on_corrupt=raise_corruption) == 5


def test_s_17_the_snapshot_knows_what_is_not_in_the_segment(partition: Partition) -> None:
    """The segment in which the transaction began is not looked at."""
    for path in partition.directory.glob("*5.log"):
        path.write_bytes(b"")
    assert stable(partition.directory.parent, 12) == 5


def test_an_empty_log_is_stable(tmp_path: Path) -> None:
    (tmp_path / "topic-0").mkdir()
    log = PartitionLog("topic", 0, str(tmp_path), ())
    assert last_stable_offset(IO, log, 0, on_corrupt=raise_corruption) == 0


def test_damage_does_not_end_the_search(partition: Partition) -> None:
    path = max(partition.directory.glob("*.log"))
    damage(path, 16, 0x70)
    log, corrupt = log_of(partition.directory.parent), list[Corruption]()
    assert last_stable_offset(IO, log, 12, on_corrupt=corrupt.append) == 5
    assert [(one.file, one.rule) for one in corrupt] == [(str(path), "R-02")]


def test_r_06_a_marker_that_may_be_another_s_is_told(tmp_path: Path) -> None:
    with Partition(tmp_path) as written:
        append(written, 7)
        written.end_transaction(7, commit=True)
    (path,) = written.directory.glob("*.log")
    damage(path, path.stat().st_size - 78 + 50, 0x01)  # its producer id
    with pytest.raises(CorruptLog, match="R-06"):
        committed(tmp_path)


def data_batches(root: Path) -> list[RecordBatch]:
    found = read_batches(IO, whole_split(root), check_crc=True, on_corrupt=raise_corruption)
    batches = [one.batch for one in found if isinstance(one.batch, RecordBatch)]
    return [batch for batch in batches if not batch.is_control]


def aborted_offsets(root: Path) -> tuple[list[int], list[str]]:
    """Base offsets of aborted batches, and the rules that markers break."""
    corrupt: list[Corruption] = []
    aborted = find_aborted(IO, whole_split(root), corrupt.append)
    offsets = [batch.base_offset for batch in data_batches(root) if aborted.hides(batch)]
    return offsets, [one.rule for one in corrupt]


def without_index(partition: Partition) -> None:
    for path in partition.directory.glob("*.txnindex"):
        path.unlink()


@pytest.mark.parametrize("position", range(34))
def test_s_16_a_wrong_index_changes_nothing(partition: Partition, position: int) -> None:
    (path,) = partition.directory.glob("*.txnindex")
    for xor in (0x01, 0x80):
        damage(path, position, xor)
        offsets, rules = aborted_offsets(partition.directory.parent)
        assert (offsets[0], rules) == (2, [])
        assert 7 not in offsets
        damage(path, position, xor)


@pytest.mark.parametrize("size_bytes", range(35))
def test_s_16_a_cut_index_changes_nothing(partition: Partition, size_bytes: int) -> None:
    (path,) = partition.directory.glob("*.txnindex")
    cut(path, size_bytes)
    assert aborted_offsets(partition.directory.parent) == ([2], [])


def test_s_16_the_index_is_believed_about_what_ends_far_behind(
    partition: Partition,
) -> None:
    root = partition.directory.parent
    first = whole_split(root).ranges[0]
    split = whole_split(root)._replace(
        ranges=(first._replace(end_position=first.end_position - 78),), end_offset=4
    )
    find = partial(find_aborted, IO, split, raise_corruption, look_ahead_bytes=0)
    assert find().hides(data_batches(root)[1])
    (path,) = partition.directory.glob("*.txnindex")
    path.write_bytes(b"")
    assert not find().hides(data_batches(root)[1])


def test_s_16_the_index_is_believed_where_a_marker_is_damaged(partition: Partition) -> None:
    root = partition.directory.parent
    batches, first = data_batches(root), min(partition.directory.glob("*.log"))
    damage(first, first.stat().st_size - 1)
    aborted = find_aborted(IO, whole_split(root), raise_corruption)
    assert [batch.base_offset for batch in batches if aborted.hides(batch)] == [2]


def test_r_43_markers_tell_without_one(partition: Partition) -> None:
    """What never ended is left out, too."""
    without_index(partition)
    assert aborted_offsets(partition.directory.parent) == ([2, 5, 10], [])


def test_r_43_a_marker_behind_the_split_tells(partition: Partition) -> None:
    without_index(partition)
    whole = whole_split(partition.directory.parent)
    split = whole._replace(ranges=whole.ranges[:1], first_offset=2, end_offset=4)
    aborted = find_aborted(IO, split, lambda _: None)
    hidden = [aborted.hides(batch) for batch in data_batches(partition.directory.parent)]
    assert hidden == [False, True, False, False, False]


def test_r_43_a_marker_that_cannot_be_read(partition: Partition) -> None:
    """Its transaction does not count: better to leave records out than to tell aborted ones."""
    without_index(partition)
    path = sorted(partition.directory.glob("*.log"))[1]
    data = bytearray(path.read_bytes())
    start = len(data) - 78
    data[start + HEADER.size + 7] = 0x01  # the key of the control record: version -255
    data[start + HEADER.size + 5] = 0xFF
    data[start + 17 : start + 21] = crc32c(data[start + 21 :]).to_bytes(4, "big")
    path.write_bytes(data)
    assert aborted_offsets(partition.directory.parent) == ([2, 5, 7, 10], ["R-43"])


OFFSETS = st.integers(0, 30)


RANGES = st.tuples(OFFSETS, OFFSETS).map(sorted)


@given(st.lists(st.tuples(st.integers(1, 2), RANGES).map(lambda each: (each[0], *each[1]))))
def test_f_14_any_of_the_ranges_hides_a_batch(aborted):
    ranges = AbortedRanges()
    for one in aborted:
        ranges.add(*one)
    for producer_id in (1, 2, 3):
        for offset in range(32):
            batch = transactional(producer_id, offset)
            expected = any(
                id_ == producer_id and first <= offset <= last for id_, first, last in aborted
            )
            assert ranges.hides(batch) is expected


def transactional(producer_id: int, base_offset: int) -> RecordBatch:
    builder = BatchBuilder(
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )
    builder.append(timestamp=1, key=None, value=b"v")
    data = bytes(builder.build())
    return RecordBatch(memoryview(data), 0, len(data))
