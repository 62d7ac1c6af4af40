"""`bench fetch`: whole runs against a broker."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_lite.testing import Broker
from tests.support.command_line import CommandLine


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture
def bench(command: CommandLine, broker: Broker, topic: str) -> CommandLine:
    """The command with the topic of the test."""

    class Bench(CommandLine):
        def __call__(self, kind: str, *arguments: str, typed: str = "") -> Any:
            where = ("--bootstrap", broker.bootstrap, "--topic", topic)
            return super().__call__(kind, *where, *arguments, typed=typed)

    return Bench(command._capsys, "bench")


@pytest.mark.slow
def test_what_was_written_is_read_again_and_again(bench: CommandLine, tmp_path: Path) -> None:
    written, once, loop = (tmp_path / name for name in ("written", "once", "loop"))
    short = ("--duration", "0.5", "--warmup", "0")
    bench.ok("produce", *short, "--rate", "20000/s", "--json", str(written))
    result = json.loads(written.read_text())
    accepted = result["accepted_records"]
    assert result["delivered_records"] == accepted > 0
    bench.ok("fetch", *short, "--json", str(once))
    assert json.loads(once.read_text())["accepted_records"] == accepted
    printed = bench.ok("fetch", *short, "--loop", "--max-bytes", "64KiB", "--json", str(loop))
    result = json.loads(loop.read_text())
    assert result["accepted_records"] > accepted
    assert (result["kind"], result["loop"]) == ("fetch", "closed")
    assert result["settings"]["max_bytes"] == 65536
    assert "latencies are of a saturated system" in printed


@pytest.mark.slow
def test_from_the_end_there_is_nothing(bench: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    short = ("--duration", "0.3", "--warmup", "0")
    bench.ok("produce", *short, "--rate", "20000/s")
    bench.ok("fetch", *short, "--from", "latest", "--rate", "10/s", "--json", str(path))
    result = json.loads(path.read_text())
    assert (result["accepted_records"], result["loop"]) == (0, "open")


def test_mistakes_are_one_line(bench: CommandLine) -> None:
    assert bench.fails("fetch").endswith("UNKNOWN_TOPIC_OR_PARTITION")
    assert bench.fails("fetch", "--rate", "5MB/s").startswith("2: --rate: fetches are counted")
