"""Which segments an offline compaction takes, and how it puts them together."""

from pathlib import Path

from broker_lite.pipeline.compact.plan import CompactionGroup, plan_compaction
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.layout import find_partitions
from tests.pipeline.support import Partition, numbered

IO = LocalFileIO()


def plan(root: Path, *, segment_bytes: int = 1 << 30) -> list[CompactionGroup]:
    logs = find_partitions(IO, str(root))
    return plan_compaction(IO, logs, segment_bytes=segment_bytes)


def bases(groups: list[CompactionGroup]) -> list[list[int]]:
    return [[segment.base_offset for segment in group.segments] for group in groups]


def test_the_last_segment_is_left_alone_s80(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        for _ in range(3):
            partition.append(numbered(4))
            partition.roll()
        partition.append(numbered(4))
    (group,) = plan(tmp_path)
    assert bases([group]) == [[0, 4, 8]]
    assert (group.base_offset, group.end_offset, group.round_end) == (0, 12, 12)


def test_one_segment_is_nothing_to_compact_s80(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        partition.append(numbered(4))
    assert plan(tmp_path) == []


def test_nothing_from_an_open_transaction_on_s80(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        partition.append(numbered(4))
        partition.roll()
        partition.append(numbered(4))
        partition.append(numbered(1), producer_id=5, is_transactional=True)
        partition.roll()
        partition.append(numbered(4))
        partition.roll()
    assert bases(plan(tmp_path)) == [[0]]


def test_groups_keep_to_the_size_of_a_segment_s83(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        for _ in range(5):
            partition.append(numbered(4))
            partition.roll()
    size_bytes = plan(tmp_path)[0].segments[0].size_bytes
    groups = plan(tmp_path, segment_bytes=2 * size_bytes)
    assert bases(groups) == [[0, 4], [8, 12], [16]]
    assert [(group.end_offset, group.round_end) for group in groups] == [
        (8, 20),
        (16, 20),
        (20, 20),
    ]
    assert bases(plan(tmp_path, segment_bytes=1)) == [[0], [4], [8], [12], [16]]
