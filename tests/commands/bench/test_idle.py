"""`bench idle`: whole runs against a broker."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.testing import Broker
from tests.support.command_line import CommandLine


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture
def idle(command: CommandLine, broker: Broker, topic: str) -> CommandLine:
    """Runs of half a second."""
    where = ("--bootstrap", broker.bootstrap, "--topic", topic)
    return command.of("bench", "idle", *where, "--duration", "0.5", "--warmup", "0.1")


@pytest.mark.parametrize("processes", ["1", "2"])
def test_connections_and_partitions(
    processes: str, idle: CommandLine, broker: Broker, tmp_path: Path
) -> None:
    path = tmp_path / "out.json"
    printed = idle.ok(
        *("--connections", "50", "--partitions", "100", "--rate", "5000/s"),
        *("--ask-every", "100", "--fetch-every", "50", "--broker-pid", str(broker.pid)),
        *("--processes", processes, "--json", str(path)),
    )
    result = json.loads(path.read_text())
    assert (result["opened"], result["open_at_end"], result["errors"]) == (50, 50, {})
    assert result["measured"]["requests"] > 0
    assert result["fetch_ms"]["max"] > 0
    assert result["settings"]["partitions"] == 100
    assert "connections opened 50, open at the end 50" in printed
    assert "time to connect: p50 " in printed
    assert "fetches: " in printed
    assert "memory of the broker: " in printed


def test_mistakes_are_one_line(idle: CommandLine) -> None:
    assert idle.fails("--rate", "5MB/s") == "2: --rate: connections are opened: 500/s or max"
    assert "100001 is not a number" in idle.fails("--connections", "100001")
    assert "connection refused" in idle.fails("--bootstrap", "127.0.0.1:1")
