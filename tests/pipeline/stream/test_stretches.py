import logging
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from broker_lite.pipeline.read.ranges import DataLossError
from broker_lite.pipeline.stream.stretches import plan_stretches
from tests.pipeline.stream_support import IO, delete_segments_below, stream_options
from tests.pipeline.support import Partition, numbered

TOPIC = ("topic", 0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """200 records in batches of 10 and segments of about 5 of them."""
    with Partition(tmp_path, segment_bytes=2500, index_interval_bytes=1) as partition:
        for _ in range(20):
            partition.append(numbered(10))
    return tmp_path


def pieces(
    root: Path, start: dict[tuple[str, int], int], end: dict[tuple[str, int], int], **options: str
) -> list[tuple[int, int]]:
    found = plan_stretches(IO, str(root), stream_options(root, **options), start, end)
    for one in found:
        assert one[:4] == (str(root), str(root / "topic-0"), *TOPIC)
    return [(one.first_offset, one.end_offset) for one in found]


def test_a_small_trigger_is_one_stretch(root: Path) -> None:
    assert pieces(root, {TOPIC: 15}, {TOPIC: 173}) == [(15, 173)]


def test_nothing_new_is_none(root: Path) -> None:
    assert pieces(root, {TOPIC: 15}, {TOPIC: 15}) == []
    assert pieces(root, {TOPIC: 15}, {TOPIC: 3}) == []
    assert pieces(root, {TOPIC: 15}, {}) == []


@pytest.mark.parametrize(
    "options",
    [{"maxSplitBytes": "1000"}, {"minPartitions": "5"}, {"maxRecordsPerPartition": "30"}],
    ids=lambda options: next(iter(options)),
)
def test_a_large_one_is_cut_as_a_batch_query_is(root: Path, options: dict[str, str]) -> None:
    found = pieces(root, {TOPIC: 15}, {TOPIC: 173}, **options)
    assert len(found) > 3
    assert found[0][0] == 15
    assert found[-1][1] == 173
    assert all(left[1] == right[0] for left, right in pairwise(found))


def test_a_new_partition_begins_at_0(root: Path) -> None:
    assert pieces(root, {}, {TOPIC: 20}) == [(0, 20)]


def test_whatever_became_of_the_files_every_offset_is_somebodys(root: Path) -> None:
    """The tasks tell what is lost: they look last."""
    delete_segments_below(root / "topic-0", 100)
    assert pieces(root, {TOPIC: 15}, {TOPIC: 30}) == [(15, 30)]
    found = pieces(root, {TOPIC: 15}, {TOPIC: 300}, maxRecordsPerPartition="50")
    assert found[0][0] == 15
    assert found[-1][1] == 300


def test_a_partition_that_is_gone(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    shutil.rmtree(root / "topic-0")
    with pytest.raises(DataLossError, match="topic-0: is gone, offsets 15 to 30 are expected"):
        pieces(root, {TOPIC: 15}, {TOPIC: 30})
    with caplog.at_level(logging.WARNING, "broker_lite.pipeline"):
        assert pieces(root, {TOPIC: 15}, {TOPIC: 30}, failOnDataLoss="false") == []
    assert len(caplog.records) == 1
