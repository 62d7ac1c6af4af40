"""S-10 to S-18, S-60, S-70, S-75, S-76: is a log sound, told without Spark.

Also tests: broker_lite.commands.log.actions, broker_lite.commands.shared.verification_text,
broker_lite.pipeline.audit.beside, broker_lite.pipeline.audit.local.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from itertools import count
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from broker_lite.commands.log.verify import is_in_use
from broker_lite.pipeline.audit.local import LocalVerifier
from broker_lite.pipeline.files.file_io import LocalFileIO, ReadableFile
from tests.log.directory.test_manager import started
from tests.log.logs import append, batch_bytes
from tests.support.broker_process import BrokerProcess
from tests.support.command_line import CommandLine, environment, process_of, run_process
from tests.support.packed_files import unpack

KAFKAS = Path(__file__).parents[1] / "data" / "dump" / "files.json"


@pytest.fixture
def verify(command: CommandLine) -> CommandLine:
    return command.of("log", "verify")


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A directory with a partition of several segments after a clean stop."""
    directory = tmp_path / "data"
    manager = started(directory, 0, 1)
    log = manager.get("t", 0)
    for number in range(12):
        if number % 4 == 3:
            log.roll(1_700_000_000_000)
        append(log, producer=(7, 0, number))
    manager.close()
    return directory


def lines(told: str) -> list[str]:
    """The rules that findings name."""
    return [line.split(": ")[1] for line in told.splitlines()[:-1]]


def test_a_sound_directory(verify: CommandLine, data_dir: Path, tmp_path: Path) -> None:
    assert verify.ok(str(data_dir)).startswith("sound: 2 partitions, ")
    assert verify.ok("--deep", "--topics", "t", str(data_dir)).startswith("sound: 2 partitions")
    assert verify.ok("--topics", "other", str(data_dir)).startswith("sound: 0 partitions")
    assert verify.ok(str(data_dir / "t-0")).startswith("sound: 1 partitions, 4 segments, 12")
    report = json.loads(verify.ok("--json", "-", str(data_dir)))
    assert (report["is_sound"], report["records"]) == (True, 12)
    verify.ok("--html", str(tmp_path / "page.html"), str(data_dir))
    assert "<html" in (tmp_path / "page.html").read_text()


def test_s97_what_a_kafka_wrote_is_sound(verify: CommandLine, tmp_path: Path) -> None:
    """Batches of its coordinators have sequences without a producer."""
    unpack(KAFKAS, tmp_path)
    metadata = tmp_path / "__cluster_metadata-0"
    (metadata / "partition.metadata").write_text(f"version: 0\ntopic_id: {'A' * 21}Q")
    for name in ("__consumer_offsets-3", "__transaction_state-3", "orders-0", metadata.name):
        assert verify.ok("--deep", str(tmp_path / name)).startswith("sound: 1 partitions")
    snapshot = max(metadata.glob("*.checkpoint"))
    snapshot.write_bytes(snapshot.read_bytes()[:-1])
    assert lines(verify(str(metadata)).out) == ["S-97"]


def write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        ("meta.properties", b"version=9\n", "S-76"),
        ("recovery-point-offset-checkpoint", b"0\n1\nt 0 99\n", "S-70"),
        ("replication-offset-checkpoint", b"0\n7\n", "S-70"),
        ("t-0/partition.metadata", b"version: 0\ntopic_id: ?", "S-75"),
        ("t-0/partition.metadata", b"\xff\xfe", "S-75"),
        ("t-0/quorum-state", b"{", "S-76"),
        ("t-0/leader-epoch-checkpoint", b"0\n1\n5 99\n", "S-60"),
        ("t-0/leader-epoch-checkpoint", b"0\n2\n5 0\n4 0\n", "S-60"),
        ("t-0/00000000000000000012.snapshot", b"\0\1", "S-17"),
        ("t-0/00000000000000000003.snapshot", b"\0\1", "S-17"),
        ("t-0/00000000000000000099.snapshot", b"\0\1\0\0\0\0\0\0\0\0", "S-17"),
        ("t-0/00000000000000000000.log.swap", b"", "S-04"),
    ],
)
def test_a_small_file_that_is_wrong_is_one_finding(
    verify: CommandLine, data_dir: Path, name: str, content: bytes, rule: str
) -> None:
    write(data_dir / name, content)
    done = verify(str(data_dir))
    assert (done.code, done.err) == (1, "")
    assert lines(done.out) == [rule]
    assert done.out.endswith(" kB\n") or done.out.endswith(" B\n")


def test_s18_a_snapshot_behind_the_end(verify: CommandLine, data_dir: Path) -> None:
    last = data_dir / "t-0" / f"{12:020d}.snapshot"
    shutil.copy(last, last.with_name(f"{99:020d}.snapshot"))
    assert lines(verify(str(data_dir)).out) == ["S-18"]


def test_whatever_byte_of_a_segment_is_wrong_is_found(verify: CommandLine, data_dir: Path) -> None:
    """R-06, S-05, S-10, S-11: the leader epoch alone is under no checksum and has no neighbour."""
    for name in ("00000000000000000003.log", "00000000000000000003.timeindex"):
        path = data_dir / "t-0" / name
        data = path.read_bytes()
        batch_bytes_each = len(batch_bytes(producer=(7, 0, 0)))
        for position in range(0, len(data), 11):
            flipped = bytes([data[position] ^ 0x80])
            path.write_bytes(data[:position] + flipped + data[position + 1 :])
            done = verify(str(data_dir / "t-0"))
            is_epoch = name.endswith(".log") and 12 <= position % batch_bytes_each < 16
            assert done.code == (0 if is_epoch else 1), (name, position)
            assert done.err == ""
        path.write_bytes(data)


def test_places_that_are_no_logs(verify: CommandLine, data_dir: Path) -> None:
    assert verify.fails(str(data_dir / "none")).startswith("2: ")
    assert verify.fails(str(data_dir / "meta.properties")).startswith("2: ")
    (data_dir / "t-0").rename(data_dir / "odd")
    assert "not named TOPIC-PARTITION" in verify.fails(str(data_dir / "odd"))


def test_s78_who_holds_the_lock_is_writing(data_dir: Path) -> None:
    assert not is_in_use(data_dir / "t-0")
    assert not is_in_use(data_dir)
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import fcntl, sys; file = open(sys.argv[1], 'r+'); fcntl.lockf(file, fcntl.LOCK_EX);"
            " print(flush=True); sys.stdin.read()",
            str(data_dir / ".lock"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert is_in_use(data_dir)
    assert not is_in_use(data_dir)


def test_what_is_not_finished_is_no_finding_while_a_broker_writes(data_dir: Path) -> None:
    """R-04, S-04, S-12, S-70: an append that is half there, an index and a checkpoint ahead."""
    partition = data_dir / "t-0"
    active = max(partition.glob("*.log"))
    active.write_bytes(active.read_bytes() + batch_bytes(producer=(7, 0, 0))[:-9])
    index = active.with_suffix(".index")
    index.write_bytes(index.read_bytes() + bytes.fromhex("000000ff 0000ffff") + bytes(80))
    (data_dir / "recovery-point-offset-checkpoint").write_text("0\n1\nt 0 99\n")
    (partition / f"{0:020d}.log.deleted").touch()
    (partition / f"{99:020d}.snapshot").touch()
    (partition / "leader-epoch-checkpoint").write_text("0\n1\n5 13\n")
    verifier = LocalVerifier(str(data_dir), lambda *_: True, is_live=True)
    assert verifier.verify().findings == ()
    still = LocalVerifier(str(data_dir), lambda *_: True).verify()
    assert {finding.rule for finding in still.findings} >= {"R-04", "S-04", "S-10", "S-17", "S-70"}


class Vanishing(LocalFileIO):
    """Files of which the first segment is deleted, or mended, when the second is opened."""

    def __init__(self, partition: Path, healed: bytes | None = None) -> None:
        self.partition = partition
        self.healed = healed
        self.opened = 0

    def open(self, path: str) -> ReadableFile:
        if path.endswith(".log"):
            self.opened += 1
            first = self.partition / f"{0:020d}.log"
            if self.healed is not None and self.opened == 5:
                first.write_bytes(self.healed)
            elif self.healed is None and self.opened == 1:
                for file in self.partition.glob(f"{0:020d}.*"):
                    file.unlink()
        return super().open(path)


def test_s54_a_segment_that_retention_took_is_not_missed(data_dir: Path) -> None:
    io = Vanishing(data_dir / "t-0")
    found = LocalVerifier(str(data_dir), lambda *_: True, is_live=True, io=io).verify()
    assert (found.findings, found.records) == ((), 9)


def test_a_finding_that_a_second_look_does_not_have_is_none(data_dir: Path) -> None:
    first = data_dir / "t-0" / f"{0:020d}.log"
    data = first.read_bytes()
    for healed, findings in ((data, 0), (data[:-1] + b"\xff", 1)):
        first.write_bytes(data[:-1] + b"\xff")
        io = Vanishing(data_dir / "t-0", healed)
        found = LocalVerifier(str(data_dir), lambda *_: True, is_live=True, io=io).verify()
        assert len(found.findings) == findings


class AlwaysVanishing(LocalFileIO):
    def open(self, path: str) -> ReadableFile:
        if path.endswith(".log"):
            raise FileNotFoundError(path)
        return super().open(path)


@pytest.mark.parametrize("is_live", [True, False])
def test_a_directory_without_an_end_of_changes_is_an_error(data_dir: Path, is_live: bool) -> None:
    verifier = LocalVerifier(str(data_dir), lambda *_: True, is_live=is_live, io=AlwaysVanishing())
    with pytest.raises(FileNotFoundError):
        verifier.verify()


def test_s80_offsets_may_be_missing_where_a_cleaner_was(
    verify: CommandLine, data_dir: Path
) -> None:
    (data_dir / "t-0" / f"{3:020d}.log").write_bytes(b"")
    assert "R-18" in lines(verify(str(data_dir)).out)
    assert verify("--compacted", str(data_dir)).out.count("R-18") == 0
    (data_dir / "cleaner-offset-checkpoint").write_text("broken")
    assert lines(verify(str(data_dir)).out).count("S-70") == 1


def test_ctrl_c_is_one_line_and_exit_code_130(tmp_path: Path) -> None:
    unpack(KAFKAS, tmp_path)
    name = str(tmp_path / "__consumer_offsets-3" / f"{0:020d}.log")
    files = ",".join([name] * 50)  # more than a pipe takes that nobody reads
    process = subprocess.Popen(
        process_of(["log", "dump", "--print-data-log", "--files", files]),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    with process:
        assert process.stdout is not None
        process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (130, "broker-lite: log dump: interrupted\n")


def test_a_file_that_cannot_be_read_is_one_line(command: CommandLine, tmp_path: Path) -> None:
    pipe = tmp_path / f"{0:020d}.log"
    os.mkfifo(pipe)
    with pipe.open("r+b", buffering=0):  # so that it can be opened at once
        assert "seek" in command.of("log", "dump").fails("--max-bytes", "1", str(pipe))


@pytest.mark.slow
def test_a_directory_in_use_is_looked_at_without_false_alarms(tmp_path: Path) -> None:
    """S-54, S-89: appends, rolls, retention, compaction and aborts go on meanwhile."""
    settings = (
        "log.retention.check.interval.ms=100",
        "log.segment.delete.delay.ms=50",
        "log.cleaner.backoff.ms=100",
        "transaction.state.log.num.partitions=1",
    )
    with BrokerProcess(tmp_path / "data", settings=settings) as broker, Load(broker.bootstrap):
        for flags in (("verify", "--deep"), ("dump", "--deep-iteration")):
            done = run_process("log", *flags, str(broker.data_dir))
            assert (done.code, done.err) == (0, ""), (done.err, done.out[-2000:])


class Load:
    """A producer with transactions, in a thread, as long as the context lasts."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Load":
        small = {"segment.bytes": str(1 << 20), "index.interval.bytes": "0"}
        kinds = {
            "short": {"retention.bytes": "2000000", "file.delete.delay.ms": "50"},
            "keyed": {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"},
        }
        topics = [NewTopic(name, 1, 1, config={**small, **own}) for name, own in kinds.items()]
        admin = AdminClient({"bootstrap.servers": self._bootstrap})
        for future in admin.create_topics(topics).values():
            future.result(20)
        self._thread.start()
        return self

    def _run(self) -> None:
        producer = Producer({"bootstrap.servers": self._bootstrap, "transactional.id": "load"})
        producer.init_transactions(20)
        for number in count():
            producer.begin_transaction()
            for key in range(50):
                producer.produce("short", bytes(8000))
                producer.produce("keyed", bytes(8000), key=str(key))
            if number % 2:
                producer.abort_transaction(20)
            else:
                producer.commit_transaction(20)
            if self._is_over.is_set():
                return

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
