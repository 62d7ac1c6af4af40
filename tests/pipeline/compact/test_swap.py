"""A group is rewritten and swapped; what a crash leaves at any step, a broker's start repairs.

Also tests: broker_lite.pipeline.compact.group.
"""

from pathlib import Path

import pytest

from broker_lite.log.cleaner.survivors import Round
from broker_lite.log.config import LogConfig
from broker_lite.log.files.checkpoints import parse_offsets
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.recovery.loading import LoadRequest, load_log
from broker_lite.pipeline.compact.group import OldMessages, rewrite
from broker_lite.pipeline.compact.plan import CompactionGroup, plan_compaction
from broker_lite.pipeline.compact.round import offline_round
from broker_lite.pipeline.compact.survivors import BUCKET_OFFSETS, OffsetSet
from broker_lite.pipeline.compact.swap import swap, swap_all
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.layout import find_foreign, find_partitions
from broker_lite.pipeline.read.batches import read_batches
from broker_lite.pipeline.read.corruption import CorruptLog, raise_corruption
from broker_lite.pipeline.read.transactions import AbortedRanges
from broker_lite.pipeline.write.log_writer import StagedSegment
from broker_lite.record.batch import RecordBatch
from broker_lite.record.records import iterate_records
from tests.pipeline.support import (
    T0,
    Partition,
    damage,
    legacy_message,
    numbered,
    whole_split,
    write_segment,
)

IO = LocalFileIO()
SURVIVORS = {3, 6, 8}


def offset_set(inside: set[int]) -> OffsetSet:
    bits = bytearray(BUCKET_OFFSETS // 8)
    for offset in inside:
        bits[offset // 8] |= 1 << offset % 8
    return OffsetSet({0: bytes(bits)})


def round_of(survivors: OffsetSet, end_offset: int) -> Round:
    return offline_round(
        survivors=survivors,
        emptied_markers=offset_set(set()),
        aborted=AbortedRanges(),
        producers={},
        end_offset=end_offset,
        now_ms=T0,
        delete_retention_ms=1000,
    )


def three_segments(root: Path) -> None:
    """Segments at 0, 3 and 6 that are compacted, one at 9 that is not."""
    with Partition(root) as partition:
        for _ in range(3):
            partition.append(numbered(3), producer_id=1)
            partition.roll()
        partition.append(numbered(2), producer_id=1)


def rewritten(root: Path) -> tuple[CompactionGroup, StagedSegment]:
    (group,) = plan_compaction(IO, find_partitions(IO, str(root)))
    survivors = offset_set(SURVIVORS)
    given = round_of(survivors, group.round_end)
    return group, rewrite(IO, str(root), group, given, "job-attempt")


def offsets(root: Path) -> list[int]:
    split = whole_split(root)
    batches = read_batches(IO, split, check_crc=True, on_corrupt=raise_corruption)
    return [
        record.offset
        for found in batches
        if isinstance(found.batch, RecordBatch)
        for record in iterate_records(found.batch)
    ]


def files(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "topic-0").iterdir())


def load(root: Path) -> None:
    """Start on the directory as a broker does after a crash."""
    config = LogConfig(segment_ms=1 << 60)
    request = LoadRequest("topic", 0, str(root / "topic-0"), config, 0, None, False)
    log = load_log(request, FileCache(), now_ms=T0)
    log.flush()
    log.close()


def test_a_group_becomes_one_segment_s83_s89(tmp_path: Path) -> None:
    three_segments(tmp_path)
    before = offsets(tmp_path)
    swaps = [rewritten(tmp_path)]
    assert offsets(tmp_path) == before  # nobody sees what waits
    swap_all(str(tmp_path), swaps)
    assert offsets(tmp_path) == [*sorted(SURVIVORS), 9, 10]
    assert find_foreign(IO, str(tmp_path)) == []
    logs = [name for name in files(tmp_path) if name.endswith(".log")]
    assert logs == [f"{0:020}.log", f"{9:020}.log"]
    assert f"{3:020}.snapshot" not in files(tmp_path)
    checkpoint = (tmp_path / "cleaner-offset-checkpoint").read_text()
    assert parse_offsets(checkpoint) == {("topic", 0): 9}


def test_a_segment_may_stay_without_a_batch(tmp_path: Path) -> None:
    three_segments(tmp_path)
    (group,) = plan_compaction(IO, find_partitions(IO, str(tmp_path)))
    given = round_of(offset_set(set()), 1000)
    staged = rewrite(IO, str(tmp_path), group, given, "job-attempt")
    swap_all(str(tmp_path), [(group, staged)])
    assert (tmp_path / "topic-0" / f"{0:020}.log").stat().st_size == 0
    assert offsets(tmp_path) == [9, 10]
    load(tmp_path)


class _Crash(Exception):
    pass


class _CrashingIO(LocalFileIO):
    """Local files, until a number of changes was made."""

    def __init__(self, changes: int) -> None:
        self.changes = changes

    def _count(self) -> None:
        if not self.changes:
            raise _Crash
        self.changes -= 1

    def rename(self, old: str, new: str) -> None:  # type: ignore[explicit-override]
        self._count()
        super().rename(old, new)

    def delete(self, path: str) -> None:  # type: ignore[explicit-override]
        self._count()
        super().delete(path)


def changes_of_a_swap(root: Path) -> int:
    three_segments(root)
    io = _CrashingIO(1000)
    swap(io, *rewritten(root))
    return 1000 - io.changes


def test_a_crash_at_every_step_s41_s89(tmp_path: Path) -> None:
    """Before the log is ready for the swap all is as it was; afterwards all is compacted."""
    total = changes_of_a_swap(tmp_path / "whole")
    assert total > 10
    for changes in range(total):
        root = tmp_path / str(changes)
        three_segments(root)
        before = offsets(root)
        with pytest.raises(_Crash):
            swap(_CrashingIO(changes), *rewritten(root))
        load(root)
        expected = before if changes == 0 else [*sorted(SURVIVORS), 9, 10]
        assert offsets(root) == expected, changes
        assert find_foreign(IO, str(root)) == []


def test_a_damaged_log_is_not_compacted_r06(tmp_path: Path) -> None:
    three_segments(tmp_path)
    damage(tmp_path / "topic-0" / f"{3:020}.log", 80)
    with pytest.raises(CorruptLog, match=f"{3:020}.log at 0: R-06"):
        rewritten(tmp_path)


def test_old_messages_are_refused(tmp_path: Path) -> None:
    write_segment(tmp_path, legacy_message(0, b"k", b"v"))
    write_segment(tmp_path, legacy_message(1, b"k", b"v"), base_offset=1)
    with pytest.raises(OldMessages, match="magic 1"):
        rewritten(tmp_path)


def test_the_swap_needs_a_clean_mark_no_longer(tmp_path: Path) -> None:
    """S-77: the mark of a data directory is there again afterwards."""
    three_segments(tmp_path)
    (tmp_path / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=x\n")
    (tmp_path / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    swap_all(str(tmp_path), [rewritten(tmp_path)])
    assert (tmp_path / ".kafka_cleanshutdown").read_text() == '{"version":0,"brokerEpoch":1}'
