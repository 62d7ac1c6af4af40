"""S-44: who does not want to wait for the recovery of a large log ends it, and nothing is lost."""

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from broker_lite.record.builder import BatchBuilder
from tests.support.broker_process import BrokerProcess
from tests.support.command_line import CommandLine, process_of

BATCHES = 2_000_000
TOPIC = "large"
TIMEOUT_S = 60
STOP_S = 2
"""The recovery that is interrupted takes longer, and its batches are read in between."""
CLEAN_MARK = ".kafka_cleanshutdown"


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    """A data directory whose broker was killed behind many small batches."""
    data_dir = tmp_path / "data"
    with BrokerProcess(data_dir, arguments=("--topic", TOPIC)) as broker:
        broker.kill()
    builder = BatchBuilder()
    builder.append(timestamp=int(time.time() * 1000), key=None, value=b"v")
    rest = builder.build()[8:]
    content = b"".join(offset.to_bytes(8, "big") + rest for offset in range(BATCHES))
    (data_dir / f"{TOPIC}-0" / f"{0:020}.log").write_bytes(content)
    return data_dir


def interrupted(
    arguments: list[str], number: signal.Signals, is_time: Callable[[], bool], log: Path
) -> tuple[int, float]:
    """Start a command, send it a signal when it is time to, and give its exit code and seconds."""
    with (
        log.open("w") as sink,
        subprocess.Popen(process_of(arguments), stderr=sink) as process,
    ):
        deadline = time.monotonic() + TIMEOUT_S
        while not is_time():
            assert process.poll() is None, f"it has ended before:\n{log.read_text()}"
            assert time.monotonic() < deadline, "it does not begin"
            time.sleep(0.01)
        process.send_signal(number)
        sent = time.monotonic()
        code = process.wait(TIMEOUT_S)
    return code, time.monotonic() - sent


@pytest.mark.slow
def test_s44_a_recovery_is_ended_by_a_signal_and_begins_anew(
    crashed: Path, tmp_path: Path, command: CommandLine
) -> None:
    log = tmp_path / "log"
    size_bytes = (crashed / f"{TOPIC}-0" / f"{0:020}.log").stat().st_size
    serve = ["serve", "--host", "127.0.0.1", "--port", "0", "--data-dir", str(crashed)]
    code, seconds = interrupted(
        serve, signal.SIGTERM, lambda: f"recovering partition={TOPIC}-0" in log.read_text(), log
    )
    assert (code, seconds < STOP_S) == (0, True)
    assert "stopped before all logs were recovered" in log.read_text()
    assert not (crashed / CLEAN_MARK).exists()

    started = time.monotonic()
    code, seconds = interrupted(
        ["log", "repair", str(crashed)],
        signal.SIGINT,
        lambda: time.monotonic() > started + 1,
        log,
    )
    assert (code, seconds < STOP_S) == (130, True)
    assert log.read_text() == "broker-lite: log repair: interrupted\n"
    assert not (crashed / CLEAN_MARK).exists()

    with BrokerProcess(crashed) as broker:
        printed = command.ok("offsets", "--bootstrap-server", broker.bootstrap, "--topic", TOPIC)
    assert printed == f"{TOPIC}:0:{BATCHES}\n"
    assert (crashed / f"{TOPIC}-0" / f"{0:020}.log").stat().st_size == size_bytes
