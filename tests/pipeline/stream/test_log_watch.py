import logging
import shutil
from pathlib import Path

import pytest

from broker_lite.pipeline.files.file_io import LocalFileIO, ReadableFile
from broker_lite.pipeline.read.ranges import DataLossError
from broker_lite.pipeline.stream.log_watch import Horizon, LogWatch, reachable
from tests.pipeline.stream_support import stream_options
from tests.pipeline.support import Partition, numbered

FIRST, SECOND = ("topic", 0), ("topic", 1)


class _Counting(LocalFileIO):
    __slots__ = ("opened",)

    def __init__(self) -> None:
        self.opened = 0

    def open(self, path: str) -> ReadableFile:  # type: ignore[explicit-override]
        self.opened += 1
        return super().open(path)


def watch(root: Path, io: LocalFileIO | None = None, **options: str) -> LogWatch:
    return LogWatch(io or LocalFileIO(), str(root), stream_options(root, **options))


def test_appends_rolls_and_new_partitions_are_seen(tmp_path: Path) -> None:
    watching = watch(tmp_path)
    assert watching.horizons() == {}
    with Partition(tmp_path) as partition:
        partition.append(numbered(3))
        assert watching.horizons() == {FIRST: Horizon(3, 3)}
        partition.roll()
        assert watching.horizons() == {FIRST: Horizon(3, 3)}
        partition.append(numbered(2))
        assert watching.horizons() == {FIRST: Horizon(5, 5)}
    with Partition(tmp_path, partition=1) as partition:
        partition.append(numbered(1))
        assert watching.horizons() == {FIRST: Horizon(5, 5), SECOND: Horizon(1, 1)}
    shutil.rmtree(tmp_path / "topic-0")
    assert watching.horizons() == {SECOND: Horizon(1, 1)}


def test_topics_that_are_not_selected_are_not(tmp_path: Path) -> None:
    for topic in ("a", "b"):
        Partition(tmp_path, topic).close()
    assert watch(tmp_path, subscribePattern="b").horizons() == {("b", 0): Horizon(0, 0)}


def test_a_log_without_a_change_is_not_opened(tmp_path: Path) -> None:
    io = _Counting()
    with Partition(tmp_path) as partition:
        partition.append(numbered(3))
        watching = watch(tmp_path, io)
        watching.horizons()
        opened = io.opened
        assert opened > 0
        watching.horizons()
        assert io.opened == opened
        partition.append(numbered(3))
        watching.horizons()
        assert io.opened > opened


def test_a_file_that_was_extended_ahead_is_looked_at_every_time(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        partition.append(numbered(3))
    partition.crash()
    path = tmp_path / "topic-0" / f"{0:020}.log"
    whole = path.read_bytes()
    path.write_bytes(bytes(len(whole)))
    watching = watch(tmp_path)
    assert watching.horizons() == {FIRST: Horizon(0, 0)}
    path.write_bytes(whole)
    assert watching.horizons() == {FIRST: Horizon(3, 3)}


def test_a_torn_tail_is_not_reached(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        partition.append(numbered(3))
        partition.append(numbered(3))
    partition.crash()
    path = tmp_path / "topic-0" / f"{0:020}.log"
    whole = path.read_bytes()
    watching = watch(tmp_path)
    for size_bytes in range(len(whole) // 2, len(whole)):
        path.write_bytes(whole[:size_bytes])
        assert watching.horizons() == {FIRST: Horizon(3, 3)}
    path.write_bytes(whole)
    assert watching.horizons() == {FIRST: Horizon(6, 6)}


def test_an_open_transaction_is_not_passed_by_who_wants_committed_records(tmp_path: Path) -> None:
    committed = watch(tmp_path, isolationLevel="read_committed")
    with Partition(tmp_path) as partition:
        partition.append(numbered(3))
        partition.append(numbered(2), producer_id=7, is_transactional=True)
        partition.append(numbered(2))
        assert committed.horizons() == {FIRST: Horizon(7, 3)}
        assert watch(tmp_path).horizons() == {FIRST: Horizon(7, 7)}
        partition.end_transaction(7, commit=True)
        assert committed.horizons() == {FIRST: Horizon(8, 8)}


def reach(start: int, horizon: Horizon | None, **options: str) -> dict[tuple[str, int], int]:
    horizons = {} if horizon is None else {FIRST: horizon}
    return reachable({FIRST: start}, horizons, stream_options(Path("/"), **options))


@pytest.mark.parametrize(
    ("start", "horizon", "end"),
    [
        (3, Horizon(9, 9), 9),
        (3, Horizon(9, 5), 5),
        (9, Horizon(9, 9), 9),
        (7, Horizon(9, 5), 7),  # it began behind the start of an open transaction
    ],
)
def test_a_stream_goes_on_to_what_may_be_read(start: int, horizon: Horizon, end: int) -> None:
    assert reach(start, horizon) == {FIRST: end}


@pytest.mark.parametrize(
    ("horizon", "text", "end"),
    [
        (Horizon(5, 5), "topic-0: the stream came to offset 9, the log ends at 5", {FIRST: 5}),
        (None, "topic-0: is gone", {}),
    ],
)
def test_what_was_cut_or_is_gone_is_lost(
    horizon: Horizon | None,
    text: str,
    end: dict[tuple[str, int], int],
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(DataLossError, match=text):
        reach(9, horizon)
    with caplog.at_level(logging.WARNING, "broker_lite.pipeline"):
        assert reach(9, horizon, failOnDataLoss="false") == end
    assert text in caplog.text
