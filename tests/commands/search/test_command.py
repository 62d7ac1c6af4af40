"""`log search`: exit codes of grep, output of `consume`, one process or several.

Also tests: broker_lite.commands.search.task, broker_lite.commands.search.workers,
broker_lite.commands.console.formatter_flags, broker_lite.commands.shared.reading_errors.
"""

import multiprocessing
import os
import re
import signal
import subprocess
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from broker_lite.commands.console.formatters import DEFAULT_FORMATTER
from broker_lite.commands.search.task import Found, SearchTask
from broker_lite.commands.search.workers import found_in_order
from broker_lite.errors import ClientError, KafkaStorageError
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.matching.conditions import EVERY_RECORD, Conditions
from broker_lite.pipeline.read.plan import plan
from broker_lite.pipeline.read.split import Split
from broker_lite.record.codecs.compression import Codec
from tests.pipeline.reading import options
from tests.pipeline.support import T0, NewRecord, Partition, damage
from tests.support.command_line import TIMEOUT_S, CommandLine, Done, environment, process_of

COUNT = 400
SUMMARY = re.compile(r"Found (\d+) messages, read (.+) of (.+) in [\d.]+ s\n")
SPLITS = ("--option", "maxSplitBytes=4k")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with two partitions of JSON, of which one is compressed."""
    root = tmp_path_factory.mktemp("logs")
    for number, codec in enumerate((Codec.NONE, Codec.ZSTD)):
        with Partition(root, "orders", number, index_interval_bytes=1) as partition:
            for first in range(0, COUNT, 20):
                partition.append(
                    [
                        NewRecord(
                            b"k%03d" % index,
                            b'{"id": %d, "city": "city-%d"}' % (index, index % 7),
                            ((b"trace", b"t%d" % index),),
                        )
                        for index in range(first, first + 20)
                    ],
                    codec=codec,
                )
    return root


@pytest.fixture
def search(command: CommandLine) -> CommandLine:
    return command.of("log", "search")


def found(done: Done) -> list[str]:
    """The printed lines of a search that found something."""
    assert done.code == 0
    lines = done.out.splitlines()
    summary = SUMMARY.fullmatch(done.err)
    assert summary is not None, done.err
    assert int(summary[1]) == len(lines)
    return lines


def test_it_prints_as_consume_does(search: CommandLine, log: Path) -> None:
    assert found(search(str(log), "--key", "k007")) == ['{"id": 7, "city": "city-0"}'] * 2
    flags = [
        f"--formatter-property=print.{each}=true"
        for each in ("timestamp", "partition", "offset", "headers", "key")
    ]
    first = f"CreateTime:{T0 + 7}\tPartition:1\tOffset:7\ttrace:t7\tk007\t"
    done = search(str(log), "--partitions", "orders:1", "--key", "k007", *flags)
    assert found(done) == [first + '{"id": 7, "city": "city-0"}']


@pytest.mark.parametrize(
    ("flags", "count"),
    [
        ((), 2 * COUNT),
        (("--key", "k007", "--key", "k011"), 4),
        (("--header", "trace=t5"), 2),
        (("--header", "trace"), 2 * COUNT),
        (("--text", "city-3"), 114),
        (("--text", "city-3", "--text", '"id": 10,'), 2),
        (("--json", "id > `397`"), 4),
        (("--json", "city == 'city-3' && id < `20`"), 6),
        (("--from", str(T0 + 390)), 20),
        (("--until", str(T0 + 10)), 20),
        (("--from", "2023-11-14T22:13:20.005", "--until", "2023-11-14T22:13:20.007Z"), 4),
        (("--option", 'startingOffsets={"orders": {"0": 399, "1": 400}}'), 1),
        (("--topics", "orders", "--max-messages", "3"), 3),
        (("--key", "6b303037", "--key-type", "hex"), 2),
    ],
)
@pytest.mark.parametrize("more", [(), SPLITS], ids=["one", "splits"])
def test_what_is_found(
    search: CommandLine, log: Path, flags: tuple[str, ...], count: int, more: tuple[str, ...]
) -> None:
    lines = found(search(str(log), *flags, "--processes", "1", *more))
    assert len(lines) == count


def test_several_processes_find_the_same_in_the_same_order(search: CommandLine, log: Path) -> None:
    flags = ("--text", "city-3", "--formatter-property", "print.offset=true")
    one = search(str(log), *flags, "--processes", "1")
    several = search(str(log), *flags, *SPLITS, "--processes", "3")
    assert found(several) == found(one)
    assert len(found(search(str(log), *SPLITS, "--processes", "2", "--max-messages", "5"))) == 5


def test_nothing_is_exit_code_1(search: CommandLine, log: Path) -> None:
    code, out, err = search(str(log), "--key", "missing")
    assert (code, out) == (1, "")
    assert SUMMARY.fullmatch(err)


def test_a_time_needs_only_a_part_of_the_log(search: CommandLine, log: Path) -> None:
    _, _, err = search(
        str(log), "--partitions", "orders:0", "--from", str(T0 + 390), "--lateness", "0"
    )
    summary = SUMMARY.fullmatch(err)
    assert summary is not None
    assert summary[2].endswith(" kB")
    assert float(summary[2].split()[0]) < float(summary[3].split()[0]) / 5


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--json", "a ="), "--json a =: no JMESPath expression: "),
        (("--max-messages", "0"), "--max-messages 0: a number above 0 is expected"),
        (("--processes", "0"), "--processes 0: 1 to 1024 are allowed"),
        (("--topics", "other"), ": there is no other"),
        (("--option", "color=red"), "option color: there is none of this name"),
        (("--option", "view=batches"), "--option view=batches: only records can be chosen"),
        (("--formatter", "Other"), "--formatter Other: must be one of "),
        (("--topics", "a", "--partitions", "a:0"), "only one of them can be given"),
    ],
)
def test_wrong_use(search: CommandLine, log: Path, flags: tuple[str, ...], told: str) -> None:
    line = search.fails(str(log), *flags)
    assert line.startswith("2: ")
    assert told in line


def test_no_log(search: CommandLine, tmp_path: Path) -> None:
    line = search.fails(str(tmp_path / "missing"))
    assert line == f"2: {tmp_path / 'missing'}: No such file or directory"
    assert search.fails("x://y").startswith("2: path 'x://y': no file system for x://")


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_record_that_a_deserializer_refuses(
    search: CommandLine, log: Path, processes: str
) -> None:
    flags = ("--value-deserializer", "LongDeserializer", "--processes", processes, *SPLITS)
    assert search.fails(str(log), *flags).startswith("2: LongDeserializer: ")


@pytest.mark.parametrize("processes", ["1", "2"])
def test_damage_is_exit_code_2_and_the_rest_is_found(
    search: CommandLine, tmp_path: Path, processes: str
) -> None:
    with Partition(tmp_path, index_interval_bytes=1) as partition:
        for number in range(100):
            partition.append([NewRecord(b"key", b"%0200d" % number)])
    path = next((tmp_path / "topic-0").glob("*.log"))
    damage(path, path.stat().st_size // 2 + 100)
    flags = (str(tmp_path), "--key", "key", "--processes", processes, *SPLITS)
    code, out, err = search(*flags)
    assert (code, out.count("\n")) == (2, 99)
    damaged, summary = err.splitlines()
    assert damaged.startswith(f"broker-lite: damaged, left out: {path} at ")
    assert summary.startswith("Found 99 messages")
    code, out, err = search(*flags, "--option", "onCorrupt=fail")
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith(f"broker-lite: corrupt log: {path} at ")


def test_damage_in_front_of_the_last_wanted_record_is_told(
    search: CommandLine, tmp_path: Path
) -> None:
    with Partition(tmp_path) as partition:
        for number in range(3):
            partition.append([NewRecord(b"key-%d" % number, b"%0200d" % number)])
    path = next((tmp_path / "topic-0").glob("*.log"))
    damage(path, path.stat().st_size // 2)
    code, out, err = search(str(tmp_path), "--key", "key-2", "--max-messages", "1")
    assert (code, out.count("\n")) == (2, 1)
    assert err.startswith(f"broker-lite: damaged, left out: {path} at ")


def test_a_file_without_keys(search: CommandLine, log: Path) -> None:
    assert search(str(log), "--keys", os.devnull)[:2] == (1, "")


def task(root: Path, conditions: Conditions = EVERY_RECORD, **properties: str) -> SearchTask:
    return SearchTask(options(path=str(root)), conditions, DEFAULT_FORMATTER, properties, None)


def splits_of(root: Path) -> list[Split]:
    return plan(LocalFileIO(), str(root), options(path=str(root), maxSplitBytes="4k"))


def test_a_process_that_dies_ends_the_search(log: Path) -> None:
    """What it has found is more than a pipe holds, so that it has not ended before."""
    large = task(log, **{"line.separator": "x" * 100_000})
    with closing(found_in_order(large, splits_of(log), 2)) as results:
        first = next(results)
        assert isinstance(first, Found)
        for child in multiprocessing.active_children():
            child.kill()
        with pytest.raises(KafkaStorageError, match="a process of the search ended unexpectedly"):
            list(results)


def test_wrong_records_in_a_process_are_raised_here(log: Path) -> None:
    broken = task(log, **{"value.deserializer": "LongDeserializer"})
    with pytest.raises(ClientError), closing(found_in_order(broken, splits_of(log), 2)) as results:
        list(results)


def test_the_reader_of_the_output_may_leave(log: Path) -> None:
    words = ["log", "search", str(log), *SPLITS, "--processes", "2"]
    process = subprocess.Popen(
        process_of(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr:
        told = process.stderr.read()
    assert process.wait(TIMEOUT_S) == 0
    assert b"broker-lite: " not in told


def test_processes_end_when_the_command_is_killed(log: Path) -> None:
    """They wait for room in their pipes, which are closed then."""
    flags = ("--formatter-property", "line.separator=" + "x" * 10_000)
    words = ["log", "search", str(log), *SPLITS, *flags, "--processes", "3"]
    with subprocess.Popen(
        process_of(words), stdout=subprocess.PIPE, env=environment(), pipesize=4096
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read(1)
        children = psutil.Process(process.pid).children()
        assert len(children) == 3
        process.kill()
        _, alive = psutil.wait_procs(children, TIMEOUT_S)
    assert alive == []


def test_ctrl_c(log: Path) -> None:
    """The processes end, too: the pipe of standard error, which they have, is closed."""
    words = ["log", "search", str(log), *SPLITS, "--processes", "2"]
    process = subprocess.Popen(
        process_of(words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        pipesize=4096,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    process.stdout.close()
    with process.stderr:
        told = process.stderr.read().decode()
    assert process.wait(TIMEOUT_S) in (0, 130)
    assert "Traceback" not in told
