import json
import logging
from pathlib import Path

import pytest

from broker_lite.pipeline.files.file_io import FileInfo, LocalFileIO
from broker_lite.pipeline.read.ranges import DataLossError, PlanError
from broker_lite.pipeline.stream.start import initial_offsets
from tests.pipeline.stream_support import (
    IO,
    Step,
    compaction,
    delete_segments_below,
    stream_options,
)
from tests.pipeline.support import T0, Partition, numbered

FIRST, SECOND = ("topic", 0), ("topic", 1)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Offsets 10 to 29 in one partition and an empty one."""
    with Partition(tmp_path) as partition:
        for _ in range(3):
            partition.append(numbered(10))
            partition.roll()
    Partition(tmp_path, partition=1).close()
    delete_segments_below(tmp_path / "topic-0", 10)
    return tmp_path


def start(root: Path, **options: str) -> dict[tuple[str, int], int]:
    return initial_offsets(IO, str(root), stream_options(root, **options))


def at(first: int, second: int) -> str:
    return json.dumps({"topic": {"0": first, "1": second}})


@pytest.mark.parametrize(
    ("options", "first"),
    [
        ({}, 30),
        ({"startingOffsets": "latest"}, 30),
        ({"startingOffsets": "earliest"}, 10),
        ({"startingOffsets": at(-2, -1)}, 10),
        ({"startingOffsets": at(17, 0)}, 17),
        ({"startingOffsets": at(30, 0)}, 30),
        ({"startingTimestamp": str(T0 + 12), "startingOffsetsByTimestampStrategy": "latest"}, 12),
    ],
)
def test_a_stream_begins_where_it_is_told(root: Path, options: dict[str, str], first: int) -> None:
    assert start(root, **options) == {FIRST: first, SECOND: 0}


def test_who_reads_committed_records_begins_at_an_open_transaction(root: Path) -> None:
    with Partition(root) as partition:
        partition.append(numbered(2), producer_id=7, is_transactional=True)
        partition.append(numbered(2))
    assert start(root)[FIRST] == 34
    assert start(root, isolationLevel="read_committed")[FIRST] == 30
    # What is asked for is there, though it cannot be read yet.
    given = {"startingOffsets": at(33, 0), "isolationLevel": "read_committed"}
    assert start(root, **given)[FIRST] == 33


def test_what_is_not_there_is_an_error(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    for offset in (9, 31):
        with pytest.raises(DataLossError, match=f"topic-0 has no offset {offset}, but 10 to 30"):
            start(root, startingOffsets=at(offset, 0))
    with caplog.at_level(logging.WARNING, "broker_lite.pipeline"):
        assert start(root, startingOffsets=at(9, 1), failOnDataLoss="false") == {
            FIRST: 10,
            SECOND: 0,
        }
    assert len(caplog.records) == 2
    with pytest.raises(PlanError, match="there is no other"):
        start(root, subscribe="other")
    with pytest.raises(FileNotFoundError):
        start(root / "gone")


class _Swapping(LocalFileIO):
    """A cleaner that does its next step whenever a partition is listed."""

    __slots__ = ("steps",)

    def __init__(self, steps: list[Step]) -> None:
        self.steps = steps

    def list(self, path: str) -> list[FileInfo]:  # type: ignore[explicit-override]
        if path.endswith("-0") and self.steps:
            self.steps.pop(0)()
        return super().list(path)


@pytest.mark.usefixtures("impatient")
def test_an_exchange_of_the_first_segment_hides_nothing(root: Path) -> None:
    options = stream_options(root, startingOffsets="earliest")
    steps = compaction(root, lambda _: True)
    while steps:
        assert initial_offsets(_Swapping(steps), str(root), options)[FIRST] == 10
