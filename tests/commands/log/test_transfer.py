"""S-70, S-75, S-76, S-96, S-97: logs of a Kafka are taken over and given back; repairs.

Also tests: broker_lite.commands.log.copies, broker_lite.commands.log.export,
broker_lite.commands.log.import_logs, broker_lite.commands.log.metadata,
broker_lite.commands.log.repair, broker_lite.commands.log.sources.
"""

import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.metadata_changes import acl_creation
from broker_lite.log.directory.data_directory import DirectoryLock
from broker_lite.log.files.names import partition_directory
from broker_lite.security.acls.acl import Operation
from broker_lite.settings import Settings
from tests.log.logs import NOW_MS, append, end_transaction
from tests.pipeline.support import legacy_message
from tests.support.acls import acl
from tests.support.command_line import CommandLine
from tests.support.disk import Disk, disk
from tests.support.packed_files import unpack

KAFKAS = Path(__file__).parents[1] / "data" / "dump" / "files.json"
__all__ = ["disk"]

OVERRIDES = {"retention.ms": "-1", "index.interval.bytes": "0"}


@pytest.fixture
def log(command: CommandLine) -> CommandLine:
    return command.of("log")


def opened(data_dir: Path) -> Cluster:
    return Cluster.open(Settings(), data_dir, Clock.standing_still(NOW_MS))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A directory with topics, configs, producers, a transaction and records that were deleted."""
    directory = tmp_path / "source"
    cluster = opened(directory)
    cluster.create_topic("orders")
    cluster.alter_configs([(2, "orders", OVERRIDES)])
    cluster.create_topic("empty")
    first = cluster.next_producer_id()
    found = cluster.log("orders", 0)
    for number in range(6):
        append(found, NOW_MS, producer=(first, 0, number))
        found.roll(NOW_MS)
    append(found, NOW_MS, producer=(first + 1, 0, 0), transactional=True)
    end_transaction(found, first + 1, commit=False)
    found.delete_records_before(3)
    cluster.close()
    return directory


def content(data_dir: Path, topic: str = "orders") -> tuple[int, int, int]:
    """Start, end and number of producers of a topic's log, as a broker finds them."""
    cluster = opened(data_dir)
    found = cluster.log(topic, 0)
    seen = found.log_start_offset, found.log_end_offset, len(found.producer_state)
    cluster.close()
    return seen


def test_s97_a_whole_directory_comes_with_all_that_is_known_of_it(
    log: CommandLine, source: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    assert log.ok("import", str(source), "--data-dir", str(target)).startswith("2 topics, 2 part")
    before, after = opened(source), opened(target)
    assert after.topics.keys() == before.topics.keys()
    for name, topic in after.topics.items():
        assert topic.topic_id == before.topics[name].topic_id
        assert topic.overrides == before.topics[name].overrides
        assert topic.partitions == before.topics[name].partitions
    assert after.cluster_id == before.cluster_id
    assert after.next_producer_id() >= 1000
    before.close()
    after.close()
    assert content(target) == content(source) == (3, 8, 2)
    aborted = list((target / "orders-0").glob("*.txnindex"))
    assert [path.stat().st_size for path in aborted] == [34]
    assert log.ok("verify", "--deep", str(target)).startswith("sound")


def test_s96_acls_come_with_it_once(log: CommandLine, source: Path, tmp_path: Path) -> None:
    read, write = acl(Operation.READ), acl(Operation.WRITE, name="empty")
    cluster = opened(source)
    cluster.write([acl_creation(b"a" * 16, read), acl_creation(b"b" * 16, write)])
    cluster.close()
    target, again = tmp_path / "target", str(tmp_path / "again")
    log.ok("export", str(source), str(target))
    log.ok("import", str(source), "--data-dir", again, "--topics", "orders")
    log.ok("import", str(source), "--data-dir", again, "--topics", "empty")
    for directory in (target, tmp_path / "again"):
        exported = opened(directory)
        assert dict(exported.acls.ids) == {read: b"a" * 16, write: b"b" * 16}
        assert len(exported.acls.by_id) == 2
        exported.close()


def test_s75_partitions_without_metadata_bring_their_ids(
    log: CommandLine, source: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    loose = tmp_path / "loose"
    shutil.copytree(source / "orders-0", loose / "orders-0")
    shutil.copytree(source / "orders-0", loose / "orders-1")
    log.ok("import", str(loose / "orders-0"), str(loose / "orders-1"), "--data-dir", str(target))
    cluster = opened(target)
    original = opened(source)
    topic = cluster.topics["orders"]
    assert (topic.topic_id, topic.partition_count) == (original.topics["orders"].topic_id, 2)
    assert topic.overrides == {}
    # its producers are there, so no new one may be given their ids
    assert cluster.next_producer_id() >= 2
    original.close()
    cluster.close()
    # into a directory that has topics already, and goes on
    log.ok("import", str(source), "--data-dir", str(target), "--topics", "empty")
    assert content(target, "empty") == (0, 0, 0)
    assert content(target)[1] == 8


def test_s97_old_formats_are_taken_too(log: CommandLine, tmp_path: Path) -> None:
    for name, messages in (
        ("v0", [legacy_message(number, b"k", b"v", magic=0) for number in range(3)]),
        ("v1", [legacy_message(number, b"k", b"v") for number in range(3)]),
    ):
        directory = tmp_path / "old" / f"{name}-0"
        directory.mkdir(parents=True)
        (directory / f"{0:020d}.log").write_bytes(b"".join(messages))
    target = tmp_path / "target"
    log.ok("import", str(tmp_path / "old"), "--data-dir", str(target), "--node-id", "7")
    assert "node.id=7" in (target / "meta.properties").read_text()
    log.ok("import", *[str(tmp_path / "old" / "v1-0")], "--data-dir", str(tmp_path / "other"))
    assert content(tmp_path / "other", "v1")[:2] == (0, 3)


def test_s97_what_a_kafka_wrote(log: CommandLine, tmp_path: Path) -> None:
    unpack(KAFKAS, tmp_path / "kafka")
    target = tmp_path / "target"
    log.ok("import", str(tmp_path / "kafka" / "orders-0"), "--data-dir", str(target))
    assert content(target) == (0, 61, 3)


def damaged(source: Path) -> None:
    path = source / "orders-0" / f"{4:020d}.log"
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def test_all_or_nothing(log: CommandLine, source: Path, tmp_path: Path) -> None:
    damaged(source)
    target = tmp_path / "target"
    told = log.fails("import", str(source), "--data-dir", str(target))
    assert told.startswith("1: ")
    assert "bytes from offset 4 on are not sound batches" in told
    assert not list(target.glob("*-0"))
    assert not list(target.glob(".import*"))
    cluster = opened(target)
    assert cluster.topics == {}
    cluster.close()
    printed = log.ok("import", str(source), "--data-dir", str(target), "--cut")
    assert "orders-0: " in printed
    assert content(target)[:2] == (3, 4)


def test_what_cannot_be_taken(log: CommandLine, source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    into = ("--data-dir", str(target))
    log.ok("import", str(source), *into)
    assert "has a topic" in log.fails("import", str(source), *into)
    assert "no partition was found" in log.fails("import", str(source), *into, "--topics", "none")
    assert "2: " in log.fails("import", str(tmp_path / "none"), *into)
    twice = tmp_path / "twice"
    shutil.copytree(source / "orders-0", twice / "other-0")
    assert "with the id of other" in log.fails("import", str(twice), *into)
    assert "there twice" in log.fails("import", str(twice), str(twice), *into)
    shutil.copytree(source / "empty-0", twice / "other-2")
    assert "missing: 1" in log.fails("import", str(twice), *into)
    shutil.copytree(source / "empty-0", twice / "other-1")
    assert "of several topics" in log.fails("import", str(twice), *into)
    (target / "new-0").mkdir()
    shutil.copytree(source / "empty-0", twice / "new-0")
    (twice / "new-0" / "partition.metadata").unlink()
    assert "exists already" in log.fails("import", str(twice), *into, "--topics", "new")
    shutil.copytree(source / "orders-0", source / "orders-1")
    assert "but there is a 1" in log.fails("import", str(source), *into)
    (twice / "meta.properties").write_text("version=9")
    assert "unknown version" in log.fails("import", str(twice), *into)
    (source / "log-start-offset-checkpoint").write_text("?")
    assert "log-start" in log.fails("import", str(source), *into)


def test_s78_a_directory_in_use_is_not_written_to(
    log: CommandLine, source: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    target.mkdir()
    lock = DirectoryLock(target)
    try:
        assert "in use" in log.fails("import", str(source), "--data-dir", str(target))
    finally:
        lock.release()
    lock = DirectoryLock(source)
    try:
        assert "in use" in log.fails("repair", "--dry-run", str(source))
        assert "in use" in log.fails("repair", str(source))
    finally:
        lock.release()


def test_s96_an_export_is_a_directory_of_its_own(
    log: CommandLine, source: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    assert log.ok("export", str(source), str(target), "--topics", "orders").startswith("1 topics")
    names = {path.name for path in target.iterdir()}
    assert names >= {"meta.properties", "__cluster_metadata-0", "orders-0", ".kafka_cleanshutdown"}
    assert "empty-0" not in names
    assert content(target) == (3, 8, 2)
    assert "is not empty" in log.fails("export", str(source), str(target))


def test_s43_repair_cuts_and_says_so(log: CommandLine, source: Path) -> None:
    assert log.ok("repair", "--dry-run", str(source)).endswith(" 0 would be changed\n")
    damaged(source)
    files = {path: path.read_bytes() for path in source.rglob("*") if path.is_file()}
    told = log.ok("repair", "--dry-run", str(source))
    assert f"{4:020d}.log: cut at 0, " in told
    assert "from offset 4 on; 2 later segments are removed\n" in told
    assert {path: path.read_bytes() for path in source.rglob("*") if path.is_file()} == files
    told = log.ok("repair", str(source))
    assert "segment cut path=" in told
    assert told.count("segment deleted") == 2
    assert content(source)[:2] == (3, 4)
    assert log.ok("verify", str(source)).startswith("sound")


def test_s42_repair_splits_a_segment(log: CommandLine, source: Path) -> None:
    """The last batch of a partition comes to lie far behind the others."""
    path = max((source / "orders-0").glob("*.log"))
    data = path.read_bytes()
    offset = int.from_bytes(data[:8], "big") + (1 << 31)
    again = offset.to_bytes(8, "big") + data[8 : int.from_bytes(data[8:12], "big") + 12]
    with path.open("ab") as file:
        file.write(again)
    told = log.ok("repair", "--dry-run", str(source))
    assert f"{path}: split at {len(data)}, offset {offset}\n" in told
    assert told.endswith(" 1 would be changed\n")
    assert f"segment split path={path} position={len(data)} " in log.ok("repair", str(source))
    assert path.read_bytes() == data
    assert path.with_stem(f"{offset:020}").read_bytes() == again


def test_s43_repair_makes_indexes_anew_also_of_a_topic_that_is_gone(
    log: CommandLine, source: Path
) -> None:
    shutil.copytree(source / "orders-0", source / "gone-0")
    for name in ("orders-0", "gone-0"):
        index = source / name / f"{3:020d}.timeindex"
        index.write_bytes(b"\xff" * 24)
    assert "S-11" in log("verify", str(source)).out
    log.ok("repair", str(source))
    assert (source / ".kafka_cleanshutdown").exists()
    assert log.ok("verify", str(source)).startswith("sound: 4 partitions")


def test_repair_of_what_is_no_data_directory(log: CommandLine, tmp_path: Path) -> None:
    assert "no data directory" in log.fails("repair", str(tmp_path))


@pytest.fixture
def full_disk(disk: Disk) -> Iterator[None]:
    """The names of partitions cannot be written any more."""

    def refuse(path: str) -> None:
        if Path(path).name == partition_directory("orders", 0):
            raise OSError(errno.EIO, "Input/output error", path)

    with disk.changed():
        disk.before("rename", refuse)
        yield


def test_a_disk_that_fails_is_one_line_and_nothing_is_left(
    log: CommandLine, source: Path, tmp_path: Path, full_disk: None
) -> None:
    target = tmp_path / "target"
    left_over = target / ".import-0"
    left_over.mkdir(parents=True)
    assert log.fails("import", str(source), "--data-dir", str(target)).startswith("1: ")
    assert not list(target.glob("*-0"))
    assert not left_over.exists()


@pytest.mark.parametrize(
    ("text", "told", "left"),
    [
        ("0\n2\norders 0 9\nempty 0 0\n", "removed 1 logs that end below it", "0\n1\nempty 0 0\n"),
        ("0\n1\norders 0 8\n", "", "0\n1\norders 0 8\n"),
        ("", "it is empty; replaced by an empty one", "0\n0\n"),
    ],
)
def test_s82_a_repair_mends_the_cleaners_checkpoint(
    log: CommandLine, source: Path, text: str, told: str, left: str
) -> None:
    path = source / "cleaner-offset-checkpoint"
    path.write_text(text)
    assert (told in log.ok("repair", str(source))) is True
    assert path.read_text() == left
    assert log.ok("verify", str(source)).startswith("sound")
