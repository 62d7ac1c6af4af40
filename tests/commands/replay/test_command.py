"""`log replay`: the records of a log in a broker, as a real consumer reads them."""

import os
import pty
import resource
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.client import Client
from broker_lite.commands.replay import command as module
from broker_lite.commands.replay.target import prepare_topics
from broker_lite.errors import KafkaStorageError
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.matching.conditions import Conditions
from broker_lite.pipeline.matching.found_records import RecordFinder
from broker_lite.pipeline.read.corruption import raise_corruption
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.record.codecs.compression import Codec
from tests.commands.replay.reading import read, written
from tests.pipeline.support import T0, NewRecord, Partition, damage, numbered, whole_split
from tests.support.command_line import TIMEOUT_S, CommandLine, environment, process_of


@pytest.fixture
def replay(command: CommandLine, bootstrap: str) -> CommandLine:
    return command.of("log", "replay", "--to", bootstrap, "--rate", "max")


def test_records_stay_as_they_are(
    replay: CommandLine, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    headers = ((b"h", b"1"), (b"h", None), ("ä".encode(), b"\xff"))
    with Partition(tmp_path, topic, 0) as first, Partition(tmp_path, topic, 2) as second:
        first.append([NewRecord(b"a", b"1", headers), NewRecord(None, b""), NewRecord(b"", None)])
        first.append(numbered(300, value_bytes=1000), codec=Codec.ZSTD)
        second.append(numbered(3), log_append_time_ms=T0 + 7)
        second.append([NewRecord(b"back", timestamp_ms=T0 - 100_000)], codec=Codec.LZ4)
    code, out, err = replay(str(tmp_path), "--rename", f"{topic}={topic}-copy")
    assert (code, out) == (0, "")
    assert err.splitlines() == [
        f"broker-lite: created topic {topic}-copy with 3 partitions,"
        " message.timestamp.type=CreateTime, retention.ms=-1",
        "broker-lite: 307 records written",
    ]
    copied = written(first, f"{topic}-copy") + written(second, f"{topic}-copy")
    assert read(bootstrap, f"{topic}-copy") == copied


@pytest.mark.parametrize(
    "flags", [(), ("--id", "two"), ("--id", "both", "--no-transactions")], ids=str
)
def test_topics_do_not_get_the_answers_of_one_another(
    replay: CommandLine, bootstrap: str, topic: str, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    """They share a connection, and each has more records than go into a request."""
    with (
        Partition(tmp_path, topic, 0) as first,
        Partition(tmp_path, f"{topic}-b", 1) as second,
    ):
        for number in range(4):
            for partition in (first, second):
                partition.append(numbered(300, first=300 * number, value_bytes=1000))
    if flags:
        flags = (*flags[:1], f"{topic}-{flags[1]}", *flags[2:])
    code, _, err = replay(str(tmp_path), *flags)
    assert code == 0, err
    assert read(bootstrap, topic, f"{topic}-b") == [
        *written(first, topic),
        *written(second, f"{topic}-b"),
    ]


def test_f14_aborted_records_are_not_written(
    replay: CommandLine, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    with Partition(tmp_path, topic) as partition:
        for producer_id, commit in ((7, True), (8, False)):
            partition.append(numbered(2), producer_id=producer_id, is_transactional=True)
            partition.end_transaction(producer_id, commit=commit)
        partition.append(numbered(1), producer_id=9, is_transactional=True)
    assert "2 records written" in replay(str(tmp_path)).err
    assert read(bootstrap, topic) == written(partition, topic)[:2]
    assert (
        "5 records written"
        in replay(str(tmp_path), "--option", "isolationLevel=read_uncommitted").err
    )


def test_only_what_is_chosen(
    replay: CommandLine, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    with Partition(tmp_path, topic) as partition:
        partition.append(numbered(100))
    flags = ("--from", str(T0 + 10), "--until", str(T0 + 40), "--text", "5")
    assert replay(str(tmp_path), *flags).code == 0
    chosen = [row for row in written(partition, topic)[10:40] if b"5" in (row.value or b"")]
    assert len(chosen) == 3
    assert read(bootstrap, topic) == chosen


@pytest.mark.parametrize("more", [(), ("--no-transactions",)], ids=["transactions", "without"])
def test_it_goes_on_where_it_ended(
    replay: CommandLine, bootstrap: str, topic: str, tmp_path: Path, more: tuple[str, ...]
) -> None:
    flags = (str(tmp_path), "--id", topic, *more)
    with Partition(tmp_path, topic) as partition:
        partition.append(numbered(10))
        partition.flush()
        assert "10 records written" in replay(*flags).err
        partition.append(numbered(5))
        partition.flush()
        assert replay(*flags).err.splitlines() == [
            "broker-lite: goes on: 10 of 15 offsets are done",
            "broker-lite: 5 records written",
        ]
    assert "0 records written" in replay(*flags).err
    assert read(bootstrap, topic) == written(partition, topic)
    assert "is taken" in replay(*flags, "--key", "other").err


@pytest.fixture
def long_log(tmp_path: Path, topic: str) -> Partition:
    """A log whose replay at its own pace would take a day."""
    with Partition(tmp_path / "log", topic) as partition:
        partition.append([NewRecord(b"%d" % n, timestamp_ms=T0 + n) for n in range(500)])
        late = T0 + 86_400_000
        partition.append([NewRecord(b"late", timestamp_ms=late + n) for n in range(500)])
    return partition


class Terminal:
    """A process that writes its standard error to a terminal."""

    def __init__(self, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(process_of(arguments), stderr=theirs, env=environment())
        os.close(theirs)
        self.told = ""

    def read_until(self, text: str) -> None:
        while text not in self.told:
            self.told += os.read(self._ours, 1 << 16).decode()

    def end(self) -> int:
        """Read to the end, which is an error of a terminal's; the exit code."""
        try:
            while data := os.read(self._ours, 1 << 16):
                self.told += data.decode()
        except OSError:
            pass
        os.close(self._ours)
        return self.process.wait(TIMEOUT_S)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"]
)
def test_a_signal_ends_it_and_the_same_command_goes_on(
    replay: CommandLine,
    bootstrap: str,
    topic: str,
    long_log: Partition,
    number: int,
    code: int,
) -> None:
    log = str(long_log.directory.parent)
    terminal = Terminal("log", "replay", log, "--to", bootstrap, "--id", topic)
    terminal.read_until("500 written, 500 offsets left")
    terminal.process.send_signal(number)
    assert terminal.end() == code
    assert "500 records written, at most " in terminal.told
    assert "stopped: the same command goes on from here" in terminal.told
    assert "goes on: 500 of 1000 offsets are done" in replay(log, "--id", topic).err
    assert read(bootstrap, topic) == written(long_log, topic)


def test_a_killed_one_goes_on_with_each_record_once(
    replay: CommandLine, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    with Partition(tmp_path, topic) as partition:
        for _ in range(40):
            partition.append(numbered(500))
    flags = (str(tmp_path), "--to", bootstrap, "--id", topic, "--rate", "10000/s")
    for _ in range(3):
        terminal = Terminal("log", "replay", *flags)
        terminal.read_until("offsets left")
        terminal.process.kill()
        terminal.end()
    code, _, err = replay(str(tmp_path), "--id", topic)
    assert (code, "records written" in err) == (0, True)
    assert read(bootstrap, topic) == written(partition, topic)


def test_by_the_name_of_a_spark_job(
    command: CommandLine, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    with Partition(tmp_path, topic) as partition:
        partition.append(numbered(3))
    done = command("spark", "replay", str(tmp_path), "--to", bootstrap, "--rate", "1000000/s")
    assert done.code == 0
    assert read(bootstrap, topic) == written(partition, topic)


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--rate", "fast"), "--rate fast: original, 2x, 10000/s or max is expected"),
        (("--longest-gap", "x"), "--longest-gap x: a duration above 0 is allowed"),
        (("--no-transactions",), "--no-transactions needs --id"),
        (("--id", ""), "--id: a name is needed"),
        (("--rename", "x=y"), "--rename x=y: the log has no such topic"),
        (("--producer-property", "acks=1"), "log replay needs acks=all and enable.idempotence"),
        (("--producer-property", "batch.size=x"), "batch.size=x: not a whole number"),
        (("--topics", "missing"), ": there is no missing"),
        (("--command-config", "missing.properties"), "missing.properties: No such file"),
    ],
)
def test_wrong_use(replay: CommandLine, tmp_path: Path, flags: tuple[str, ...], told: str) -> None:
    with Partition(tmp_path, "t") as partition:
        partition.append(numbered(1))
    line = replay.fails(str(tmp_path), *flags)
    assert line.startswith("2: ")
    assert told in line


def test_nobody_to_write_to(command: CommandLine, tmp_path: Path) -> None:
    with Partition(tmp_path, "t") as partition:
        partition.append(numbered(1))
    line = command.of("log", "replay").fails(str(tmp_path), "--to", "127.0.0.1:1")
    assert line == "1: 127.0.0.1:1: connection refused"


def test_a_record_that_the_broker_refuses_ends_it(
    replay: CommandLine, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    with Partition(tmp_path, topic) as partition:
        partition.append([NewRecord(b"small")])
        partition.append([NewRecord(b"large", os.urandom(3 << 20))])
        partition.append([NewRecord(b"behind")])
    line = replay(str(tmp_path))
    assert line.code == 1
    assert f"partition {topic}-0: MESSAGE_TOO_LARGE" in line.err
    assert [each.key for each in read(bootstrap, topic)] == [b"small"]


def test_damage_ends_it_unless_it_is_skipped(
    replay: CommandLine, topic: str, tmp_path: Path
) -> None:
    with Partition(tmp_path, topic) as partition:
        for _ in range(3):
            partition.append(numbered(10))
    path = next(partition.directory.glob("*.log"))
    damage(path, path.stat().st_size // 2 + 100)
    code, _, err = replay(str(tmp_path))
    assert code == 1
    assert "broker-lite: corrupt log: " in err
    assert "20 records written" in replay(str(tmp_path), "--option", "onCorrupt=skip").err


def finder_of_a_log_whose_end_was_deleted(root: Path, *, fails: bool) -> RecordFinder:
    """Two segments of ten records were there when the replay was planned; one is left."""
    with Partition(root) as partition:
        partition.append(numbered(10))
        partition.roll()
        partition.append(numbered(10))
    split = whole_split(root)
    Path(split.ranges[1].segment.log_path).unlink()
    options = ReadOptions.parse({"path": str(root), "failOnDataLoss": str(fails).lower()})
    return RecordFinder(LocalFileIO(), split, options, Conditions(), raise_corruption)


def test_what_retention_deletes_meanwhile_ends_it(tmp_path: Path) -> None:
    batches = module._batches(("t", 0), finder_of_a_log_whose_end_was_deleted(tmp_path, fails=True))
    assert len(next(batches)) == 10
    told = (
        r"^t-0: .*10\.log was deleted before its records were written, from offset 10 on; --option"
    )
    with pytest.raises(KafkaStorageError, match=told):
        next(batches)


def test_what_retention_deletes_meanwhile_can_be_left_out(tmp_path: Path) -> None:
    finder = finder_of_a_log_whose_end_was_deleted(tmp_path, fails=False)
    assert [len(records) for records in module._batches(("t", 0), finder)] == [10]


def test_too_few_partitions(
    replay: CommandLine, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    with Client(bootstrap) as client:
        prepare_topics(client, {topic: 1})
    with Partition(tmp_path, topic, 4) as partition:
        partition.append(numbered(1))
    line = replay.fails(str(tmp_path))
    assert line == f"2: topic {topic} has 1 partitions in the broker, and 5 are needed"


def test_an_empty_log(replay: CommandLine, tmp_path: Path) -> None:
    assert replay(str(tmp_path)).err == "broker-lite: 0 records written\n"


@pytest.fixture(autouse=True)
def limits() -> Iterator[None]:
    """A replay raises the limit of open files; the tests after it have the old one."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
