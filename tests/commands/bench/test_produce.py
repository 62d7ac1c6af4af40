"""`bench produce`: whole runs against a broker.

Also tests: broker_lite.commands.bench.command, broker_lite.commands.bench.measuring.
"""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import pytest

from broker_lite import __version__
from broker_lite.client import Client
from broker_lite.client.partition_offsets import LATEST, list_offsets
from broker_lite.client.topic_partitions import find_topics
from broker_lite.testing import Broker
from tests.support.command_line import CommandLine, environment, process_of

TIMEOUT_S = 60


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker({"broker.lite.control": "127.0.0.1:0"}) as running:
        yield running


@pytest.fixture
def produce(command: CommandLine, broker: Broker, topic: str) -> CommandLine:
    """Runs of half a second."""
    where = ("--bootstrap", broker.bootstrap, "--topic", topic)
    return command.of("bench", "produce", *where, "--duration", "0.5", "--warmup", "0.1")


def written(broker: Broker, topic: str) -> list[int]:
    """The end offsets of all partitions."""
    with Client(broker.bootstrap) as client:
        topics = find_topics(client, [topic])
        wanted = {(topic, number): LATEST for number in range(topics[topic].partition_count)}
        return list(list_offsets(client, wanted, topics).values())


def test_what_is_accepted_is_delivered(
    produce: CommandLine, broker: Broker, topic: str, tmp_path: Path
) -> None:
    path = tmp_path / "out.json"
    printed = produce.ok(
        *("--rate", "50000/s", "--partitions", "5", "--record-bytes", "50"),
        *("--json", str(path), "--broker-pid", str(broker.pid)),
    )
    result: dict[str, Any] = json.loads(path.read_text())
    ends = written(broker, topic)
    assert result["accepted_records"] == result["delivered_records"] == sum(ends) > 0
    assert len(ends) == 5
    assert min(ends) > 0
    assert (result["kind"], result["loop"], result["errors"]) == ("produce", "open", {})
    assert result["settings"]["partitions"] == 5
    assert result["settings"]["version"] == __version__
    assert result["settings"]["rate"] == {"per_second": 50000, "is_bytes": False}
    assert result["cpu"]["broker_s"] >= 0
    measured = result["measured"]
    assert sum(each["records"] for each in result["seconds"]) == (
        result["warmup"]["records"] + measured["records"]
    )
    assert f"{topic}: 5 partitions, 4 connections; open loop: a latency counts from" in printed
    assert re.search(r"^accepted ([\d,]+) records, delivered \1 ", printed, re.MULTILINE)


@pytest.mark.parametrize("acks", ["0", "1", "all"])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_acks_and_codecs(
    acks: str, codec: str, produce: CommandLine, broker: Broker, topic: str, tmp_path: Path
) -> None:
    path = tmp_path / "out.json"
    printed = produce.ok(
        *("--rate", "1MB/s", "--batch-bytes", "4KiB", "--codec", codec, "--acks", acks),
        *("--json", str(path), "--duration", "0.2"),
    )
    result = json.loads(path.read_text())
    # without acknowledgements the broker may not have read all of it when it is asked
    assert result["delivered_records"] <= result["accepted_records"]
    assert acks == "0" or result["delivered_records"] == result["accepted_records"]
    assert "CPU of the client" in printed


@pytest.mark.slow
def test_as_fast_as_can_be(produce: CommandLine, broker: Broker, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text("one line\nanother one\n")
    url = re.search(r"control API at (http://\S+)", broker.log)
    assert url is not None
    html = tmp_path / "report.html"
    where = ("--control", url[1], "--html", str(html))
    printed = produce.ok("--payload", f"file:{lines}", *where, "--connections", "2")
    assert (
        "12 partitions, 2 connections; closed loop: latencies are of a saturated system" in printed
    )
    assert "CPU of the broker" in printed
    sentence = printed.splitlines()[-1]
    assert sentence.startswith("What the broker saw on ")
    assert escape(sentence) in html.read_text()


def test_a_broker_that_refuses(produce: CommandLine, broker: Broker, topic: str) -> None:
    with Client(broker.bootstrap) as client:
        create(client, topic, {"max.message.bytes": "100"})
    done = produce("--rate", "5000/s")
    assert (done.code, done.err) == (1, "")
    assert re.search(r"error MESSAGE_TOO_LARGE: \d+\n", done.out)
    assert re.search(r"requests refused: \d+\n", done.out)
    assert "accepted 0 records, delivered 0 " in done.out


def create(client: Client, topic: str, configs: dict[str, str]) -> None:
    from broker_lite.wire import messages

    make = messages.CreateTopicsRequest
    entries = [make.CreatableTopicConfig(name=key, value=text) for key, text in configs.items()]
    wanted = make.CreatableTopic(
        name=topic, num_partitions=1, replication_factor=1, configs=entries
    )
    assert client.request(make(topics=[wanted], timeout_ms=10_000)).topics[0].error_code == 0


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (("--rate", "fast"), "fast is not a rate: 50MB/s, 20000/s or max"),
        (("--payload", "random:2"), "random:2 is no payload"),
        (("--payload", "random:much"), "random:much is no payload"),
        (("--payload", "text"), "text is no payload"),
        (("--payload", "file:"), "file: is no payload"),
        (("--payload", "file:/missing/file"), "/missing/file: No such file or directory"),
        (("--json", "/missing/out.json"), "--json /missing/out.json: No such file or directory"),
        (("--html", "/missing/out.html"), "--html /missing/out.html: No such file or directory"),
        (("--broker-pid", "2147483647"), "no CPU time of process 2147483647"),
        (("--connections", "501"), "501 is not a number from 1 to 500"),
        (("--bootstrap", "127.0.0.1:1"), "127.0.0.1:1: connection refused"),
    ],
)
def test_mistakes_are_one_line(flags: tuple[str, ...], text: str, produce: CommandLine) -> None:
    assert text in produce.fails(*flags)


def test_a_run_that_does_not_begin_leaves_no_file(produce: CommandLine, tmp_path: Path) -> None:
    kept, new = tmp_path / "kept.json", tmp_path / "new.json"
    kept.write_text("of before")
    for path in (kept, new):
        produce.fails("--json", str(path), "--bootstrap", "127.0.0.1:1")
    assert kept.read_text() == "of before"
    assert not new.exists()


def started(*arguments: str) -> subprocess.Popen[str]:
    """A run in a process of its own, which sends already."""
    process = subprocess.Popen(
        process_of(["bench", "produce", *arguments]),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdout is not None
    assert "connections" in process.stdout.readline()
    return process


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"]
)
def test_a_signal_gives_the_figures_so_far(
    number: signal.Signals, code: int, broker: Broker, topic: str, tmp_path: Path
) -> None:
    path = tmp_path / "out.json"
    where = ("--bootstrap", broker.bootstrap, "--topic", topic, "--json", str(path))
    with started(*where, "--duration", "1000") as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, err) == (code, "")
    assert "interrupted: these are the figures so far" in out
    result = json.loads(path.read_text())
    assert result["interrupted"]
    assert result["delivered_records"] >= result["accepted_records"]


@pytest.mark.slow
def test_a_broker_that_goes_away(topic: str) -> None:
    with Broker() as broker:
        where = ("--bootstrap", broker.bootstrap, "--topic", topic)
        with started(*where, "--duration", "2", "--warmup", "0", "--rate", "1000/s") as process:
            broker.kill()
            out, err = process.communicate(timeout=TIMEOUT_S)
        broker.start()
    assert (process.returncode in {0, 1}, err) == (True, "")
    assert "error connection lost" in out
    assert "connection refused" in out
    assert "delivered is not known: " in out


@pytest.mark.slow
def test_lines_on_a_terminal(broker: Broker, topic: str) -> None:
    ours, theirs = os.openpty()
    arguments = ("--bootstrap", broker.bootstrap, "--topic", topic, "--rate", "1000/s")
    done = subprocess.run(
        process_of(["bench", "produce", *arguments, "--duration", "1", "--warmup", "0.5"]),
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        env=environment(),
        timeout=TIMEOUT_S,
        check=True,
    )
    os.close(theirs)
    with open(ours, closefd=True) as terminal:
        lines = [terminal.readline() for _ in range(2)]
    assert " records/s" in lines[0]
    assert "(warm-up)" in lines[0]
    assert "(warm-up)" not in lines[1]
    assert "measured" in done.stdout
