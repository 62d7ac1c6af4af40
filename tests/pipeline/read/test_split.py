"""A split is plain data, which tells how much it is."""

import pickle

from broker_lite.pipeline.files.layout import Segment
from broker_lite.pipeline.read.split import SegmentRange, Split, gathered

SEGMENT = Segment("topic", 0, 0, "/log/topic-0", 900, frozenset({".index"}))
SPLIT = Split(
    "/log", "topic", 0, (SegmentRange(SEGMENT, 100, 900), SegmentRange(SEGMENT, 0, 50)), 7, 30
)


def test_sizes() -> None:
    assert [part.size_bytes for part in SPLIT.ranges] == [800, 50]
    assert (SPLIT.size_bytes, SPLIT.offset_count) == (850, 23)


def test_it_travels_to_its_task() -> None:
    assert pickle.loads(pickle.dumps(SPLIT)) == SPLIT


def test_neighbours_are_put_together() -> None:
    sizes = (1, 2, 3, 10, 0, 4)
    parts = [SegmentRange(SEGMENT, 0, size) for size in sizes]
    groups = gathered(parts, 6)
    assert [[part.size_bytes for part in group] for group in groups] == [[1, 2, 3], [10], [0, 4]]
    assert gathered([], 6) == []
