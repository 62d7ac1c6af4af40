"""S-10 to S-17: the files of new segments are those that a broker makes of the same batches."""

from pathlib import Path
from typing import Any

import pytest

from broker_lite.log.producers.snapshot import decode_snapshot
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.write.encode import BatchEncoder, EncodedBatch, Producer
from broker_lite.pipeline.write.log_writer import LogWriter, Placement, StagedSegment
from broker_lite.record.control import EndTransactionMarker, end_transaction_batch
from tests.pipeline.support import T0, Partition, numbered
from tests.pipeline.write_support import rows_of, stage


def staged_files(segments: list[StagedSegment]) -> dict[str, bytes]:
    """Content by the name that the file will have."""
    return {
        f"{one.base_offset:020d}{suffix}": Path(one.staged_path(suffix)).read_bytes()
        for one in segments
        for suffix in one.suffixes
    }


def broker_files(directory: Path) -> dict[str, bytes]:
    suffixes = (".log", ".index", ".timeindex", ".txnindex")
    return {p.name: p.read_bytes() for p in directory.iterdir() if p.suffix in suffixes}


@pytest.mark.parametrize("interval", [0, 700, 4096])
def test_s_13_files_are_those_of_the_log_room(tmp_path: Path, interval: int) -> None:
    records = numbered(400)
    sizes: Any = {"segment_bytes": 5000, "index_interval_bytes": interval}
    with Partition(tmp_path / "broker", **sizes) as partition:
        for first in range(0, 400, 5):
            partition.append(records[first : first + 5])
    placement = Placement(str(tmp_path / "new"), "topic", 0, "job-1", **sizes)
    segments = stage(placement, records)
    assert staged_files(segments) == broker_files(partition.directory)
    assert len(segments) > 3
    assert [one.end_offset for one in segments[:-1]] == [one.base_offset for one in segments[1:]]
    assert sum(one.record_count for one in segments) == 400
    assert all(one.size_bytes == Path(one.staged_path(".log")).stat().st_size for one in segments)


def test_s_16_s_17_transactions_and_producers(tmp_path: Path) -> None:
    with Partition(tmp_path / "broker") as partition:
        for producer_id in (1, 2):
            partition.append(numbered(3), producer_id=producer_id, is_transactional=True)
        partition.end_transaction(2, commit=False)
        partition.end_transaction(1, commit=True)
    writer = LogWriter(LocalFileIO(), Placement(str(tmp_path / "new"), "topic", 0, "job-1"))
    encoder = BatchEncoder(0)
    for producer_id in (1, 2):
        rows = rows_of(numbered(3), encoder.next_offset)
        list(encoder.append(rows, 0, 3))
        writer.append(encoder.finish(Producer(producer_id, 0, 0, is_transactional=True)))
    for producer_id, is_commit in ((2, False), (1, True)):
        offset = encoder.next_offset
        encoder.skip(1)
        marker = EndTransactionMarker(is_commit, 0)
        data = end_transaction_batch(
            producer_id, 0, marker, timestamp=T0, base_offset=offset, leader_epoch=0
        )
        writer.append(EncodedBatch(data, offset, offset, T0, 1))
    (segment,) = segments = writer.close()
    assert staged_files(segments) == broker_files(partition.directory)
    (snapshot,) = partition.directory.glob("*8.snapshot")
    assert segment.producers == snapshot.read_bytes()
    assert [entry.producer_id for entry in decode_snapshot(segment.producers)] == [1, 2]


def test_s_30_offsets_too_far_apart_are_in_two_segments(tmp_path: Path) -> None:
    writer = LogWriter(LocalFileIO(), Placement(str(tmp_path), "topic", 0, "job-1"))
    encoder = BatchEncoder(0)
    for _ in range(2):
        list(encoder.append(rows_of(numbered(1)), 0, 1))
        writer.append(encoder.finish())
        encoder.skip(1 << 31)
    assert [one.base_offset for one in writer.close()] == [0, 1 + (1 << 31)]


def test_s_41_staged_files_are_removed_by_the_next_start(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        partition.append(numbered(2))
    stage(Placement(str(tmp_path), "topic", 0, "job-1"), numbered(3), next_offset=2)
    assert list(partition.directory.glob("*.deleted"))
    with Partition(tmp_path) as partition:
        assert partition.log.log_end_offset == 2
    assert not list(partition.directory.glob("*.deleted"))


def test_nothing_written_makes_no_segment(tmp_path: Path) -> None:
    assert LogWriter(LocalFileIO(), Placement(str(tmp_path), "topic", 0, "job-1")).close() == []
    assert list(tmp_path.iterdir()) == []


def test_r_18_s_61_gaps_and_leader_epochs_are_noted(tmp_path: Path) -> None:
    writer = LogWriter(LocalFileIO(), Placement(str(tmp_path), "topic", 0, "job-1"))
    encoder = BatchEncoder(0)
    for epoch, skipped in ((1, 0), (1, 0), (4, 0)):
        encoder.skip(skipped)
        encoder.leader_epoch = epoch
        list(encoder.append(rows_of(numbered(2)), 0, 2))
        writer.append(encoder.finish())
    (segment,) = writer.close()
    assert (segment.epochs, segment.has_gaps) == (((1, 0), (4, 4)), False)
    writer = LogWriter(LocalFileIO(), Placement(str(tmp_path), "topic", 1, "job-1"))
    for _ in range(2):
        encoder.skip(3)
        list(encoder.append(rows_of(numbered(2)), 0, 2))
        writer.append(encoder.finish())
    (segment,) = writer.close()
    assert (segment.epochs, segment.has_gaps) == (((4, 9),), True)
