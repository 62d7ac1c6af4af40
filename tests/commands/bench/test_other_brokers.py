"""`bench` against brokers that are secured, old, or a real Kafka."""

import json
from pathlib import Path
from typing import Any

import pytest

from broker_lite.testing import Broker
from tests.support.command_line import CommandLine
from tests.support.reference_kafka import ReferenceKafka
from tests.support.toolchain import require

SHORT = ("--duration", "0.5", "--warmup", "0.1", "--connections", "2", "--partitions", "3")


def results_of(command: CommandLine, folder: Path, *where: str) -> list[Any]:
    """The results of a run of each kind."""
    written, read, both, idle = (folder / f"{kind}.json" for kind in ("p", "f", "e2e", "idle"))
    command.ok("bench", "produce", *where, *SHORT, "--rate", "20000/s", "--json", str(written))
    command.ok("bench", "fetch", *where, *SHORT[:6], "--loop", "--json", str(read))
    command.ok("bench", "e2e", *where, *SHORT, "--rate", "5000/s", "--json", str(both))
    asking = ("--ask-every", "100", "--fetch-every", "100")
    command.ok("bench", "idle", *where, *SHORT, *asking, "--json", str(idle))
    return [json.loads(path.read_text()) for path in (written, read, both, idle)]


def check(command: CommandLine, folder: Path, *where: str) -> None:
    written, read, both, idle = results_of(command, folder, *where)
    assert written["accepted_records"] == written["delivered_records"] > 0
    assert read["accepted_records"] > 0
    assert both["written_records"] == both["accepted_records"] > 0
    assert idle["measured"]["requests"] > 0
    assert idle["open_at_end"] == 2
    assert [result["errors"] for result in (written, read, both, idle)] == [{}] * 4


@pytest.mark.slow
@pytest.mark.parametrize("word", ["ssl", "sasl_ssl"])
def test_a_secured_broker(word: str, command: CommandLine, tmp_path: Path) -> None:
    with Broker(security=word, security_only=True) as broker:
        config = broker.client_config("java")
        path = tmp_path / "client.properties"
        lines = (f"{name}={text}".replace("\n", "\\n") for name, text in config.items())
        path.write_text("\n".join(lines))
        where = ("--bootstrap", config["bootstrap.servers"], "--command-config", str(path))
        check(command, tmp_path, *where)


@pytest.mark.slow
def test_a_session_ends_in_the_middle_of_a_run(command: CommandLine, tmp_path: Path) -> None:
    settings = {"connections.max.reauth.ms": 2000}
    with Broker(settings, security="sasl_plaintext", security_only=True) as broker:
        config = broker.client_config("java")
        path = tmp_path / "client.properties"
        path.write_text("\n".join(f"{name}={text}" for name, text in config.items()))
        where = ("--bootstrap", config["bootstrap.servers"], "--command-config", str(path))
        result = tmp_path / "result.json"
        flags = ("--duration", "3", "--warmup", "0", "--rate", "20000/s", "--json", str(result))
        command.ok("bench", "produce", *where, *flags)
    found = json.loads(result.read_text())
    assert found["errors"] == {}
    assert found["accepted_records"] == found["delivered_records"] > 0


@pytest.mark.slow
def test_an_old_broker(
    command: CommandLine, old_bootstrap: str, topic: str, tmp_path: Path
) -> None:
    check(command, tmp_path, "--bootstrap", old_bootstrap, "--topic", topic)


@pytest.mark.slow
@pytest.mark.kafka
def test_a_real_kafka(command: CommandLine, tmp_path: Path) -> None:
    require("java", "mvn")
    with ReferenceKafka(tmp_path / "kafka", is_short_lived=True) as kafka:
        check(command, tmp_path, "--bootstrap", kafka.bootstrap)
