from pathlib import Path

import pytest

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.layout import (
    ForeignEntry,
    LayoutError,
    Segment,
    find_foreign,
    find_partitions,
)
from broker_lite.pipeline.files.open_file_io import open_file_io
from tests.pipeline.support import Partition, numbered

STEM = "00000000000000000000"
HEX = "0123456789abcdef0123456789abcdef"
IO = LocalFileIO()


def touch(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_s02_s03_partitions_and_their_segments(tmp_path):
    with Partition(tmp_path, "a-b", 12, segment_bytes=2_000) as partition:
        for index in range(4):
            partition.append(numbered(20, first=20 * index))
    touch(tmp_path, "empty-0/partition.metadata")
    io, root = open_file_io(str(tmp_path))
    found = find_partitions(io, root)
    assert list(found) == [("a-b", 12), ("empty", 0)]
    log = found["a-b", 12]
    assert (log.topic, log.partition, log.checkpointed_start) == ("a-b", 12, 0)
    assert [segment.base_offset for segment in log.segments] == [0, 40]
    first, last = log.segments
    directory = f"{tmp_path}/a-b-12"
    assert first.stem == f"{directory}/{STEM}"
    assert first.log_path == f"{directory}/{STEM}.log"
    assert first.size_bytes == Path(first.log_path).stat().st_size > 0
    assert first.suffixes == {".index", ".timeindex"}
    assert last.suffixes == {".index", ".timeindex", ".snapshot"}
    assert found["empty", 0].segments == ()


def test_s02_the_partition_is_behind_the_last_hyphen(tmp_path):
    touch(tmp_path, f"a-1-2/{STEM}.log", f"__x-0/{STEM}.log")
    assert list(find_partitions(IO, str(tmp_path))) == [("__x", 0), ("a-1", 2)]


def test_s04_what_is_not_in_use_is_left_out_and_told(tmp_path):
    """S-02, S-04: set-aside directories, interrupted changes, foreign files."""
    touch(
        tmp_path,
        ".lock",
        "meta.properties",
        "notes.txt",
        "lost+found/x",
        f"t-0.{HEX}-delete/{STEM}.log",
        f"t-1.{HEX}-future/{STEM}.log",
        f"t-2.{HEX}-stray/{STEM}.log",
        f"t-0/{STEM}.log",
        f"t-0/{STEM}.index",
        f"t-0/{STEM}.log.deleted",
        f"t-0/{STEM}.log.cleaned",
        f"t-0/{STEM}.index.swap",
        "t-0/00000000000000000007.timeindex",
        "t-0/00000000000000000009.snapshot",
        f"t-0/{STEM}.bak",
        "t-0/core",
        "t-0/leader-epoch-checkpoint",
        "t-0/sub/x",
        f"__cluster_metadata-0/{STEM}.log",
        "__cluster_metadata-0/00000000000000000042-0000000001.checkpoint",
        "__cluster_metadata-0/quorum-state",
    )
    root = str(tmp_path)
    assert list(find_partitions(IO, root)) == [("t", 0)]
    (segment,) = find_partitions(IO, root)["t", 0].segments
    assert segment == Segment("t", 0, 0, f"{root}/t-0", 0, frozenset({".index"}))
    out_of_use = "directory out of use: deleted, stray or future"
    interrupted = "left by an interrupted change: not in use"
    assert find_foreign(IO, root) == [
        ForeignEntry(f"{root}/lost+found", "no directory of a partition"),
        ForeignEntry(f"{root}/notes.txt", "no file of a log directory"),
        ForeignEntry(f"{root}/t-0/{STEM}.bak", "no file of a segment"),
        ForeignEntry(f"{root}/t-0/{STEM}.index.swap", interrupted),
        ForeignEntry(f"{root}/t-0/{STEM}.log.cleaned", interrupted),
        ForeignEntry(f"{root}/t-0/{STEM}.log.deleted", interrupted),
        ForeignEntry(f"{root}/t-0/00000000000000000007.timeindex", "index without its .log"),
        ForeignEntry(f"{root}/t-0/core", "no file of a partition"),
        ForeignEntry(f"{root}/t-0/sub", "directory inside a partition"),
        ForeignEntry(f"{root}/t-0.{HEX}-delete", out_of_use),
        ForeignEntry(f"{root}/t-1.{HEX}-future", out_of_use),
        ForeignEntry(f"{root}/t-2.{HEX}-stray", out_of_use),
    ]


@pytest.mark.parametrize("topic", ["__cluster_metadata", "__consumer_offsets"])
def test_s02_internal_topics_are_there_when_they_are_wanted(tmp_path, topic):
    touch(tmp_path, f"{topic}-0/{STEM}.log", f"t-0/{STEM}.log")
    root = str(tmp_path)
    assert list(find_partitions(IO, root)) == [("t", 0)]
    wanted = find_partitions(IO, root, lambda name, partition: name == topic)
    assert list(wanted) == [(topic, 0)]
    assert list(find_partitions(IO, f"{root}/{topic}-0")) == [(topic, 0)]


def test_a_root_may_be_a_partition_or_end_in_a_number(tmp_path):
    touch(tmp_path, f"kafka-1/t-0/{STEM}.log", "kafka-1/t-0/junk")
    root = tmp_path / "kafka-1"
    assert list(find_partitions(IO, str(root))) == [("t", 0)]
    assert list(find_partitions(IO, f"{root}/t-0/")) == [("t", 0)]
    assert find_foreign(IO, f"{root}/t-0") == [
        ForeignEntry(f"{root}/t-0/junk", "no file of a partition")
    ]


@pytest.mark.parametrize("name", ["copy", f"t-0.{HEX}-delete"])
def test_s02_segments_below_another_name_are_an_error(tmp_path, name):
    touch(tmp_path, f"{name}/{STEM}.log")
    with pytest.raises(LayoutError, match="has segments, but is not named TOPIC-PARTITION"):
        find_partitions(IO, str(tmp_path / name))


def test_a_root_that_is_missing_or_a_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        find_partitions(IO, str(tmp_path / "missing"))
    touch(tmp_path, "file")
    with pytest.raises(NotADirectoryError):
        find_partitions(IO, str(tmp_path / "file"))


@pytest.mark.parametrize("below", ["", "/t-0"])
def test_s70_the_start_of_a_log_is_in_its_checkpoint(tmp_path, below):
    touch(tmp_path, f"t-0/{STEM}.log")
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 17\n")
    (log,) = find_partitions(IO, f"{tmp_path}{below}").values()
    assert log.checkpointed_start == 17


@pytest.mark.parametrize("content", [b"0\n1\nt 0\n", b"\xff\xfe"])
def test_s70_a_bad_checkpoint_is_passed_over_and_told(tmp_path, caplog, content):
    touch(tmp_path, f"t-0/{STEM}.log")
    (tmp_path / "log-start-offset-checkpoint").write_bytes(content)
    assert find_partitions(IO, str(tmp_path))["t", 0].checkpointed_start == 0
    assert "checkpoint passed over" in caplog.text


class _DeletingIO(LocalFileIO):
    """Deletes a partition's directory when the log directory has been listed."""

    def __init__(self, victim: Path) -> None:
        self.victim = victim

    def list(self, path):
        found = super().list(path)
        if path != str(self.victim) and self.victim.exists():
            for file in self.victim.iterdir():
                file.unlink()
            self.victim.rmdir()
        return found


def test_a_partition_that_vanishes_meanwhile_is_left_out(tmp_path):
    touch(tmp_path, f"t-0/{STEM}.log", f"t-1/{STEM}.log")
    assert list(find_partitions(_DeletingIO(tmp_path / "t-0"), str(tmp_path))) == [("t", 1)]


def test_a_segment_that_has_an_index_only_is_none(tmp_path):
    touch(tmp_path, f"t-0/{STEM}.index", "t-0/partition.metadata")
    assert find_partitions(IO, str(tmp_path))["t", 0].segments == ()
