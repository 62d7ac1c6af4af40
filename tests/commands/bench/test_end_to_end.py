"""`bench e2e`: whole runs against a broker.

Also tests: broker_lite.commands.bench.writing.
"""

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
def e2e(command: CommandLine, broker: Broker, topic: str) -> CommandLine:
    """Runs of half a second."""
    where = ("--bootstrap", broker.bootstrap, "--topic", topic)
    return command.of("bench", "e2e", *where, "--duration", "0.5", "--warmup", "0.1")


def result_of(command: CommandLine, path: Path, *arguments: str) -> Any:
    printed = command.ok(*arguments, "--json", str(path))
    return json.loads(path.read_text()), printed


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_all_that_is_written_is_seen(codec: str, e2e: CommandLine, tmp_path: Path) -> None:
    result, printed = result_of(
        e2e, tmp_path / "out.json", "--rate", "20000/s", "--codec", codec, "--partitions", "3"
    )
    assert result["written_records"] == result["accepted_records"] > 0
    assert (result["unseen"], result["repeated"], result["errors"]) == (0, 0, {})
    # nobody sees a batch before the broker has it
    assert result["measured"]["latency_ms"]["max"] > 0
    assert result["acknowledged"]["requests"] > 0
    assert f"seen {result['accepted_records']:,}" in printed
    assert "latencies of acknowledgements: p50 " in printed


@pytest.mark.parametrize("flags", [("--acks", "0"), ("--acks", "1"), ("--no-idempotence",)])
def test_other_acks(flags: tuple[str, ...], e2e: CommandLine, tmp_path: Path) -> None:
    result, _ = result_of(e2e, tmp_path / "out.json", "--rate", "5000/s", *flags)
    assert result["written_records"] == result["accepted_records"] > 0
    assert not result["settings"]["idempotence"]


def test_the_broker_may_write_batches_anew(
    e2e: CommandLine, broker: Broker, topic: str, tmp_path: Path, command: CommandLine
) -> None:
    configs = ("compression.type=zstd", "message.timestamp.type=LogAppendTime")
    command.ok(
        *("topics", "--bootstrap-server", broker.bootstrap, "--create", "--topic", topic),
        *(part for config in configs for part in ("--config", config)),
    )
    result, _ = result_of(e2e, tmp_path / "out.json", "--rate", "5000/s")
    assert result["written_records"] == result["accepted_records"] > 0


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (("--record-bytes", "23"), "a value of 23 bytes has no room for the time at which"),
        (("--acks", "1", "--idempotence"), "--idempotence needs --acks all, and --in-flight"),
        (("--in-flight", "6", "--idempotence"), "--idempotence needs --acks all"),
        (("--processes", "13"), "--processes 13: the topic "),
    ],
)
def test_mistakes_are_one_line(flags: tuple[str, ...], text: str, e2e: CommandLine) -> None:
    assert text in e2e.fails(*flags)
