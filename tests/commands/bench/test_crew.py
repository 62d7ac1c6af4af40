"""Loads of several processes: sums, Ctrl-C, and processes that die.

Also tests: broker_lite.commands.bench.crew_member, broker_lite.load.worker.
"""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from broker_lite.testing import Broker
from tests.commands.bench.test_produce import TIMEOUT_S, started
from tests.support.command_line import CommandLine


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


def where(broker: Broker, topic: str) -> tuple[str, ...]:
    return ("--bootstrap", broker.bootstrap, "--topic", topic, "--processes", "3")


@pytest.mark.slow
def test_the_sums_of_three_processes(
    command: CommandLine, broker: Broker, topic: str, tmp_path: Path
) -> None:
    path, again = tmp_path / "out.json", tmp_path / "again.json"
    run = command.of("bench")
    flags = ("--duration", "1.5", "--warmup", "0.5", "--connections", "6")
    printed = run.ok(
        "produce", *where(broker, topic), *flags, "--rate", "20000/s", "--json", str(path)
    )
    assert f"{topic}: 12 partitions, 6 connections" in printed
    result = json.loads(path.read_text())
    assert result["accepted_records"] == result["delivered_records"] > 0
    assert result["errors"] == {}
    # every request of the schedule was due once: 2 s at a rate of 20,000 records
    asked_per_s = 20_000 / result["settings"]["mean_batch_records"]
    latencies = result["warmup"]["latency_counts"] + result["measured"]["latency_counts"]
    assert abs(sum(count for _, count in latencies) - 2 * asked_per_s) <= 1
    assert sum(second["requests"] for second in result["seconds"]) == (
        result["warmup"]["requests"] + result["measured"]["requests"]
    )
    assert [second["is_warmup"] for second in result["seconds"]] == [True, False, False]
    assert result["cpu"]["client_s"] > 0
    run.ok(
        "fetch", *where(broker, topic), "--duration", "0.5", "--warmup", "0", "--json", str(again)
    )
    # each partition is read by one process
    assert json.loads(again.read_text())["accepted_records"] == result["accepted_records"]


@pytest.mark.slow
def test_end_to_end_in_three_processes(
    command: CommandLine, broker: Broker, topic: str, tmp_path: Path
) -> None:
    path = tmp_path / "out.json"
    flags = ("--duration", "1", "--warmup", "0", "--rate", "10000/s", "--json", str(path))
    command.ok("bench", "e2e", *where(broker, topic), *flags)
    result = json.loads(path.read_text())
    assert result["written_records"] == result["accepted_records"] > 0
    assert (result["unseen"], result["repeated"]) == (0, 0)


def members_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children()


@pytest.mark.slow
def test_ctrl_c_ends_all(broker: Broker, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    with started(*where(broker, topic), "--duration", "1000", "--json", str(path)) as process:
        members = members_of(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, err) == (130, "")
    assert "interrupted: these are the figures so far" in out
    assert json.loads(path.read_text())["interrupted"]
    assert len(members) == 3
    assert psutil.wait_procs(members, TIMEOUT_S)[1] == []


@pytest.mark.slow
def test_a_process_that_dies_is_an_error(broker: Broker, topic: str) -> None:
    with started(*where(broker, topic), "--duration", "1000") as process:
        members = members_of(process)
        os.kill(members[1].pid, signal.SIGKILL)
        _, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1
    assert err.startswith("broker-lite: process ")
    assert err.endswith(" of 3 of the load ended by signal 9\n")
    assert psutil.wait_procs(members, TIMEOUT_S)[1] == []


@pytest.mark.slow
def test_none_outlives_its_crew(broker: Broker, topic: str) -> None:
    with started(*where(broker, topic), "--duration", "1000") as process:
        members = members_of(process)
        process.kill()
        process.communicate(timeout=TIMEOUT_S)
    assert psutil.wait_procs(members, TIMEOUT_S)[1] == []


def test_what_a_process_cannot_do_is_one_line(
    command: CommandLine, broker: Broker, topic: str, tmp_path: Path
) -> None:
    path = tmp_path / "lines"
    path.write_text("line\n")
    flags = ("--duration", "0.1", "--warmup", "0", "--payload", f"file:{path}")
    found = command.of("bench", "e2e").fails(*where(broker, topic), *flags)
    assert "a value of 4 bytes has no room" in found
