"""`kafka server-stop`: which processes are brokers."""

import os
import signal
from pathlib import Path

import pytest

from broker_lite.commands.kafka.server_stop import stop_brokers


def processes(folder: Path, *commands: str) -> Path:
    """A folder like /proc with a process for each command line, from number 10 on."""
    for number, command in enumerate(commands, 10):
        (folder / str(number)).mkdir()
        data = b"".join(word.encode() + b"\0" for word in command.split())
        (folder / str(number) / "cmdline").write_bytes(data)
    (folder / "11111111").mkdir()  # one that ended just now
    (folder / "sys").mkdir()
    return folder


@pytest.mark.parametrize(
    "command",
    [
        "/usr/bin/python3 -ISu /usr/bin/broker-lite container",
        "python -m broker_lite serve --port 0",
        "/venv/bin/broker-lite serve",
        "/usr/bin/python3 -ISu /opt/kafka/bin/kafka-server-start.sh server.properties",
    ],
)
def test_brokers_get_a_signal(tmp_path: Path, command: str) -> None:
    signals: list[tuple[int, int]] = []
    proc = processes(tmp_path, command, "bash", "broker-lite kafka server-stop")
    assert stop_brokers(proc, lambda process, number: signals.append((process, number))) == 0
    assert signals == [(10, signal.SIGTERM)]


def test_there_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(process: int, number: int) -> None:
        raise ProcessLookupError

    proc = processes(
        tmp_path,
        "broker-lite topics --list",
        "broker-lite",
        "vi broker_lite serve",
        "broker-lite serve",
    )
    assert stop_brokers(proc, refuse) == 1
    assert capsys.readouterr().err == "No kafka server to stop\n"


def test_it_never_signals_itself(tmp_path: Path) -> None:
    own = tmp_path / str(os.getpid())
    own.mkdir()
    (own / "cmdline").write_bytes(b"broker-lite\0serve\0")
    assert stop_brokers(tmp_path, lambda _process, _number: pytest.fail("it was signalled")) == 1
