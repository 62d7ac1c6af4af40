"""S-18, S-31, S-60, S-70: staged segments become those of a log, all or none of them."""

from pathlib import Path
from typing import Any

import pytest

from broker_lite.log.config import LogConfig
from broker_lite.log.directory.manager import LogManager
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.files.leader_epochs import FILE_NAME as EPOCH_FILE
from broker_lite.log.producers.snapshot import decode_snapshot
from broker_lite.log.recovery.loading import LoadRequest, load_log
from broker_lite.pipeline.files.file_io import FileIO, LocalFileIO, WritableFile
from broker_lite.pipeline.files.log_root import WriteRefused
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.write.commit import CommittedPartition, commit
from broker_lite.pipeline.write.encode import BatchEncoder, Producer
from broker_lite.pipeline.write.log_writer import LogWriter, Placement, StagedSegment
from tests.pipeline.support import T0, Partition, cut, numbered
from tests.pipeline.write.test_restamp import batches
from tests.pipeline.write_support import rows_of, stage

IO = LocalFileIO()


def relative(root: Path, tag: str, count: int, **sizes: int) -> list[StagedSegment]:
    placement = Placement(str(root), "topic", 0, f"job-{tag}", is_relative=True, **sizes)
    return stage(placement, numbered(count))


def offsets_of(directory: Path) -> list[tuple[int, int]]:
    """Base and last offset of all batches, in the order of the files."""
    return [
        (batch.base_offset, batch.last_offset)
        for path in sorted(directory.glob("*.log"))
        for batch in batches(path)
    ]


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_s_31_tasks_follow_one_another(tmp_path: Path) -> None:
    segments = [*relative(tmp_path, "a", 7), *relative(tmp_path, "b", 12, segment_bytes=500)]
    size_bytes = sum(one.size_bytes for one in segments)
    assert commit(IO, str(tmp_path), segments) == [
        CommittedPartition("topic", 0, 0, 19, 19, size_bytes, 3)
    ]
    directory = tmp_path / "topic-0"
    assert offsets_of(directory) == [(0, 4), (5, 6), (7, 11), (12, 16), (17, 18)]
    bases = [0, 7, 17]
    expected = [
        f"{base:020d}.{suffix}" for base in bases for suffix in ("index", "log", "timeindex")
    ]
    expected += [f"{offset:020d}.snapshot" for offset in (7, 17, 19)]
    assert names(directory) == sorted([*expected, EPOCH_FILE])
    assert (directory / EPOCH_FILE).read_text() == "0\n1\n0 0\n"


def test_s_13_a_log_in_two_commits_is_that_of_a_broker(tmp_path: Path) -> None:
    """Recovery, which trusts nothing, rebuilds the very same files."""
    for tag in ("a", "b"):
        commit(IO, str(tmp_path), relative(tmp_path, tag, 100, segment_bytes=3000))
    directory = tmp_path / "topic-0"
    files = {path.name: path.read_bytes() for path in directory.iterdir()}
    request = LoadRequest("topic", 0, str(directory), LogConfig(), is_clean=False)
    log = load_log(request, FileCache(), now_ms=T0)
    assert log.log_end_offset == 200
    log.close()
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == files


def test_s_61_batches_get_the_epoch_of_their_log(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        partition.log.become_leader(4)
        partition.append(numbered(3))
    commit(IO, str(tmp_path), relative(tmp_path, "a", 3))
    (path,) = partition.directory.glob("*3.log")
    assert [(one.leader_epoch, one.crc_is_valid()) for one in batches(path)] == [(4, True)]


def test_s_31_an_empty_segment_is_replaced(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        partition.append(numbered(3))
        partition.roll()
    assert (partition.directory / f"{3:020d}.log").stat().st_size == 0
    commit(IO, str(tmp_path), relative(tmp_path, "a", 4))
    assert offsets_of(partition.directory) == [(0, 2), (3, 6)]


def test_s_18_producers_of_the_log_and_of_the_new_segments(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        partition.append(numbered(3), producer_id=1)
    writer = LogWriter(IO, Placement(str(tmp_path), "topic", 0, "job-a"))
    encoder = BatchEncoder(3)
    list(encoder.append(rows_of(numbered(2)), 0, 2))
    writer.append(encoder.finish(Producer(2, 0, 0)))
    commit(IO, str(tmp_path), writer.close())
    for offset, expected in ((3, [1]), (5, [1, 2])):
        data = (partition.directory / f"{offset:020d}.snapshot").read_bytes()
        assert [entry.producer_id for entry in decode_snapshot(data)] == expected


def test_where_an_empty_log_begins(tmp_path: Path) -> None:
    commit(IO, str(tmp_path), relative(tmp_path, "a", 3), base_offset=1000)
    directory = tmp_path / "topic-0"
    assert offsets_of(directory) == [(1000, 1002)]
    assert (directory / EPOCH_FILE).read_text() == "0\n1\n0 1000\n"
    with pytest.raises(WriteRefused, match=r"baseOffset 5000: the log of topic-0 .* 1002 already"):
        commit(IO, str(tmp_path), relative(tmp_path, "b", 3), base_offset=5000)


def test_offsets_that_are_kept_must_rise(tmp_path: Path) -> None:
    placement = Placement(str(tmp_path), "topic", 0, "job-a")
    first = stage(placement, numbered(3), next_offset=50)
    second = stage(placement._replace(tag="job-b"), numbered(3), next_offset=52)
    with pytest.raises(WriteRefused, match="offset 52 of topic-0 is not above 52"):
        commit(IO, str(tmp_path), [*first, *second])
    third = stage(placement._replace(tag="job-c"), numbered(3), next_offset=90)
    commit(IO, str(tmp_path), [*first, *third])
    assert offsets_of(tmp_path / "topic-0") == [(50, 52), (90, 92)]


def test_s_43_a_torn_log_is_refused(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        partition.append(numbered(3))
        partition.append(numbered(3))
    (path,) = partition.directory.glob("*.log")
    cut(path, path.stat().st_size - 1)
    with pytest.raises(WriteRefused, match="topic-0 ends in a torn batch"):
        commit(IO, str(tmp_path), relative(tmp_path, "a", 1))


def test_nothing_to_commit(tmp_path: Path) -> None:
    assert commit(IO, str(tmp_path / "missing"), []) == []


class FullStorage(LocalFileIO):
    """Files of which only some can be renamed."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def rename(self, old: str, new: str) -> None:  # type: ignore[explicit-override]
        if new.endswith(".deleted"):
            super().rename(old, new)  # undoing needs no room
            return
        if not self.left:
            raise OSError("no room")
        self.left -= 1
        super().rename(old, new)


@pytest.mark.parametrize("left", range(9))
def test_what_goes_wrong_is_undone(tmp_path: Path, left: int) -> None:
    with Partition(tmp_path) as partition:
        partition.append(numbered(3))
    before = set(names(partition.directory))
    segments = [*relative(tmp_path, "a", 3), *relative(tmp_path, "b", 3)]
    storage: FileIO = FullStorage(left)
    if left == 8:
        commit(storage, str(tmp_path), segments)
        assert offsets_of(partition.directory)[-1] == (6, 8)
        return
    with pytest.raises(OSError, match="no room"):
        commit(storage, str(tmp_path), segments)
    assert {n for n in names(partition.directory) if not n.endswith(".deleted")} == before
    assert all(
        Path(one.staged_path(suffix)).exists() for one in segments for suffix in one.suffixes
    )
    commit(IO, str(tmp_path), [*relative(tmp_path, "c", 3)])
    assert offsets_of(partition.directory) == [(0, 2), (3, 5)]


def test_s_40_s_70_a_data_directory_at_rest(tmp_path: Path) -> None:
    """The next start is a clean one: nothing is recovered, and the log goes on behind it."""
    first = LogManager(tmp_path, node_id=1, now_ms=lambda: T0)
    first.open()
    first.create("topic", 0, b"t" * 16)
    first.close(broker_epoch=3)
    mark = (tmp_path / ".kafka_cleanshutdown").read_text()
    (added,) = commit(IO, str(tmp_path), relative(tmp_path, "a", 7))
    assert (added.first_offset, added.end_offset) == (0, 7)
    assert (tmp_path / ".kafka_cleanshutdown").read_text() == mark
    second = LogManager(tmp_path, node_id=1, now_ms=lambda: T0)
    second.open()
    assert second.was_clean
    second.create("topic", 0, b"t" * 16)
    log = second.get("topic", 0)
    assert (log.log_end_offset, log.flusher.recovery_point) == (7, 7)
    with pytest.raises(WriteRefused, match="in use"):
        commit(IO, str(tmp_path), relative(tmp_path, "b", 1))
    second.close()
    commit(IO, str(tmp_path), relative(tmp_path, "b", 1), sync=False)
    assert offsets_of(tmp_path / "topic-0") == [(0, 4), (5, 6), (7, 7)]


class Elsewhere:
    """Storage that is not local, in which a copy breaks off."""

    def __init__(self) -> None:
        self.is_full = False

    def __getattr__(self, name: str) -> Any:
        return getattr(IO, name)

    def create(self, path: str) -> WritableFile:
        """Make a file, and fail behind it when it is a log in use."""
        file = IO.create(path)
        if self.is_full and path.endswith(".log"):
            file.close()
            raise OSError("no room")
        return file


def test_a_copy_that_breaks_off_is_undone(tmp_path: Path) -> None:
    storage = Elsewhere()
    commit(storage, str(tmp_path), relative(tmp_path, "a", 3))
    before = names(tmp_path / "topic-0")
    storage.is_full = True
    segments = relative(tmp_path, "b", 3)
    with pytest.raises(OSError, match="no room"):
        commit(storage, str(tmp_path), segments)
    assert [n for n in names(tmp_path / "topic-0") if not n.endswith(".deleted")] == before
    storage.is_full = False
    commit(storage, str(tmp_path), segments)
    assert offsets_of(tmp_path / "topic-0") == [(0, 2), (3, 5)]


def test_storage_whose_files_cannot_be_changed() -> None:
    io, root = open_file_io("memory://commit/logs")
    placement = Placement(root, "topic", 0, "job-a", is_relative=True)
    for _ in range(2):
        encoder, writer = BatchEncoder(0), LogWriter(io, placement)
        list(encoder.append(rows_of(numbered(4)), 0, 4))
        writer.append(encoder.finish())
        commit(io, root, writer.close())
    for base in (0, 4):
        with io.open(f"{placement.directory}/{base:020d}.log") as file:
            assert int.from_bytes(file.read_at(0, 8), "big") == base


def with_epochs(root: Path, tag: str, first_offset: int, *epochs: int) -> list[StagedSegment]:
    """Stage a batch of two records of each epoch."""
    writer = LogWriter(IO, Placement(str(root), "topic", 0, f"job-{tag}"))
    encoder = BatchEncoder(first_offset)
    for epoch in epochs:
        encoder.leader_epoch = epoch
        list(encoder.append(rows_of(numbered(2)), 0, 2))
        writer.append(encoder.finish())
    return writer.close()


def test_s_61_s_63_batches_keep_their_epochs_if_those_of_the_log_do_not_fall(
    tmp_path: Path,
) -> None:
    commit(IO, str(tmp_path), with_epochs(tmp_path, "a", 0, 2, 5))
    path = tmp_path / "topic-0" / EPOCH_FILE
    assert path.read_text() == "0\n2\n2 0\n5 2\n"
    commit(IO, str(tmp_path), with_epochs(tmp_path, "b", 4, 5, 7))
    assert path.read_text() == "0\n3\n2 0\n5 2\n7 6\n"
    commit(IO, str(tmp_path), with_epochs(tmp_path, "c", 8, 3, 9))
    assert path.read_text() == "0\n3\n2 0\n5 2\n7 6\n"
    found = [one.leader_epoch for log in sorted(path.parent.glob("*.log")) for one in batches(log)]
    assert found == [2, 5, 5, 7, 7, 7]


class OnlyOnePartition(LocalFileIO):
    """Files of which those of another partition cannot be renamed."""

    __slots__ = ()

    def rename(self, old: str, new: str) -> None:  # type: ignore[explicit-override]
        if "/topic-1/" in new:
            raise OSError("no room")
        super().rename(old, new)


def test_s_61_an_error_brings_the_epochs_back(tmp_path: Path) -> None:
    commit(IO, str(tmp_path), with_epochs(tmp_path, "a", 0, 2))
    other = Placement(str(tmp_path), "topic", 1, "job-b")
    segments = [*with_epochs(tmp_path, "b", 2, 6), *stage(other, numbered(2))]
    with pytest.raises(OSError, match="no room"):
        commit(OnlyOnePartition(), str(tmp_path), segments)
    assert (tmp_path / "topic-0" / EPOCH_FILE).read_text() == "0\n1\n2 0\n"
    assert offsets_of(tmp_path / "topic-0") == [(0, 1)]


@pytest.mark.parametrize(
    ("is_noted", "expected"), [(True, "0\n2\ngone 3 9\ntopic 0 9\n"), (False, None)]
)
def test_s_70_missing_offsets_are_noted_as_compacted(
    tmp_path: Path, is_noted: bool, expected: str | None
) -> None:
    commit(IO, str(tmp_path), with_epochs(tmp_path, "a", 0, 0), gaps_are_compacted=True)
    checkpoint = tmp_path / "cleaner-offset-checkpoint"
    assert not checkpoint.exists(), "nothing is missing"
    if is_noted:
        checkpoint.write_text("0\n1\ngone 3 9\n")
    commit(IO, str(tmp_path), with_epochs(tmp_path, "b", 7, 0), gaps_are_compacted=is_noted)
    assert (checkpoint.read_text() if checkpoint.exists() else None) == expected


def test_an_error_while_gaps_are_noted_undoes_all(tmp_path: Path) -> None:
    class FullStorage(LocalFileIO):
        def create(self, path: str) -> WritableFile:  # type: ignore[explicit-override]
            if path.endswith("cleaner-offset-checkpoint.tmp"):
                raise OSError("no room")
            return super().create(path)

    segments = with_epochs(tmp_path, "a", 7, 0)
    commit(IO, str(tmp_path), with_epochs(tmp_path, "b", 0, 0))
    with pytest.raises(OSError, match="no room"):
        commit(FullStorage(), str(tmp_path), segments, gaps_are_compacted=True)
    assert [first for first, _ in offsets_of(tmp_path / "topic-0")] == [0]
    commit(IO, str(tmp_path), segments, gaps_are_compacted=True)
    assert [first for first, _ in offsets_of(tmp_path / "topic-0")] == [0, 7]
