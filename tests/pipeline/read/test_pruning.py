from pathlib import Path

import pytest

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.plan import plan
from broker_lite.pipeline.read.pruning import Pruning
from broker_lite.pipeline.read.ranges import PlanError
from broker_lite.pipeline.stream.planned import plan_settled
from tests.pipeline.support import T0, Partition, numbered

IO = LocalFileIO()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two partitions of each of two topics with offsets 0 to 999, timestamps from T0 on."""
    root = tmp_path_factory.mktemp("logs")
    for topic in ("orders", "users"):
        for number in range(2):
            with Partition(root, topic, number, segment_bytes=20_000) as partition:
                for first in range(0, 1000, 50):
                    partition.append(numbered(50, first=first))
    return root


def ranges(root: Path, pruning: Pruning, **given: str) -> dict[str, tuple[int, int]]:
    """What is read, by the name of the partition's directory."""
    options = ReadOptions.parse({"path": str(root), **given})
    return {
        f"{split.topic}-{split.partition}": (split.first_offset, split.end_offset)
        for split in plan_settled(IO, str(root), options, pruning)
    }


def test_nothing_is_left_out_by_default(root: Path) -> None:
    options = ReadOptions.parse({"path": str(root), "maxSplitBytes": "10k"})
    assert plan_settled(IO, str(root), options, Pruning()) == plan(IO, str(root), options)


@pytest.mark.parametrize(
    ("pruning", "expected"),
    [
        (Pruning(topics=frozenset({"users"})), {"users-0": (0, 1000), "users-1": (0, 1000)}),
        (Pruning(partitions=frozenset({1})), {"orders-1": (0, 1000), "users-1": (0, 1000)}),
        (
            Pruning(topics=frozenset({"users"}), partitions=frozenset({1, 7}), first_offset=990),
            {"users-1": (990, 1000)},
        ),
        (Pruning(topics=frozenset({"none"})), {}),
        (Pruning(first_offset=1000), {}),
        (Pruning(end_offset=0), {}),
    ],
    ids=["topic", "partition", "all", "no topic", "behind the end", "before the start"],
)
def test_what_is_read(root: Path, pruning: Pruning, expected: dict[str, tuple[int, int]]) -> None:
    assert ranges(root, pruning) == expected


def test_offsets_of_a_filter_only_make_those_of_the_options_fewer(root: Path) -> None:
    given = {"startingOffsets": '{"users": {"0": 100}}', "endingOffsets": '{"users": {"0": 200}}'}
    chosen = {"assign": '{"users": [0]}', **given}
    assert ranges(root, Pruning(first_offset=50), **chosen) == {"users-0": (100, 200)}
    assert ranges(root, Pruning(first_offset=150, end_offset=300), **chosen) == {
        "users-0": (150, 200)
    }


def test_records_that_are_too_old_are_left_out(root: Path) -> None:
    only = {"assign": '{"users": [0]}'}
    assert ranges(root, Pruning(timestamp_ms=T0 + 700), **only) == {"users-0": (700, 1000)}
    assert ranges(root, Pruning(timestamp_ms=T0 + 700, first_offset=800), **only) == {
        "users-0": (800, 1000)
    }


def test_a_timestamp_without_an_answer_leaves_nothing_out(root: Path) -> None:
    only = {"assign": '{"users": [0]}'}
    assert ranges(root, Pruning(timestamp_ms=T0 + 5000), **only) == {"users-0": (0, 1000)}


def test_few_bytes_are_read_for_few_offsets(root: Path) -> None:
    options = ReadOptions.parse({"path": str(root), "assign": '{"users": [0]}'})
    (whole,) = plan(IO, str(root), options)
    (found,) = plan_settled(IO, str(root), options, Pruning(first_offset=500, end_offset=510))
    assert found.size_bytes < whole.size_bytes / 5


def test_what_is_missing_is_missed_whatever_the_filter(root: Path) -> None:
    with pytest.raises(PlanError, match="there is no payments"):
        ranges(root, Pruning(topics=frozenset({"users"})), subscribe="payments,users")


@pytest.mark.parametrize(
    ("left", "right", "both"),
    [
        (Pruning(), Pruning(timestamp_ms=5), Pruning(timestamp_ms=5)),
        (Pruning(timestamp_ms=7), Pruning(timestamp_ms=5), Pruning(timestamp_ms=7)),
        (
            Pruning(topics=frozenset("ab")),
            Pruning(topics=frozenset("bc"), partitions=frozenset({1})),
            Pruning(topics=frozenset("b"), partitions=frozenset({1})),
        ),
        (
            Pruning(first_offset=1, end_offset=8),
            Pruning(first_offset=3, end_offset=9),
            Pruning(first_offset=3, end_offset=8),
        ),
    ],
    ids=["one timestamp", "two timestamps", "names", "offsets"],
)
def test_both_have_to_allow_it(left: Pruning, right: Pruning, both: Pruning) -> None:
    assert left & right == both
    assert right & left == both
