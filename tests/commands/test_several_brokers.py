"""`broker-lite serve` with several brokers: its ready line, its ports, and settings it refuses."""

import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.broker_process import READY_TIMEOUT_S
from tests.support.command_line import environment, process_of, run_process
from tests.support.docker import free_ports
from tests.support.told_addresses import told_addresses

READY = re.compile(r"broker-lite \S+ ready on (\S+) in \d+ ms\n")
BROKERS = ("--set", "broker.lite.brokers=3")
NAMES = "listener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT"


@contextmanager
def serving(data_dir: Path, *arguments: str) -> Iterator[list[tuple[str, int]]]:
    """Start a cluster; the addresses of its ready line."""
    command = process_of(("serve", *BROKERS, "--data-dir", str(data_dir), *arguments))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        try:
            assert process.stdout is not None
            ready = READY.fullmatch(process.stdout.readline())
            assert ready is not None
            pairs = [address.rpartition(":") for address in ready[1].split(",")]
            yield [(host, int(port)) for host, _, port in pairs]
        finally:
            process.terminate()
            assert process.wait(READY_TIMEOUT_S) == 0


def told(ports: list[int]) -> set[str]:
    return {f"127.0.0.1 {port}" for port in ports}


def test_the_ready_line_has_the_ports_side_by_side(tmp_path: Path) -> None:
    first = free_ports(3)
    with serving(tmp_path, "--port", str(first)) as addresses:
        ports = [first, first + 1, first + 2]
        assert addresses == [("127.0.0.1", port) for port in ports]
        assert [told_addresses("127.0.0.1", port) for port in ports] == [told(ports)] * 3


def test_port_0_is_a_free_one_for_each(tmp_path: Path) -> None:
    with serving(tmp_path, "--port", "0") as addresses:
        ports = [port for _, port in addresses]
        assert len({*ports}) == 3
        assert 0 not in ports
        assert [told_addresses("127.0.0.1", port) for port in ports] == [told(ports)] * 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            ["listeners=A://127.0.0.1:19092,B://127.0.0.1:19093", NAMES],
            "listener A of broker 2: port 19093 is that of listener B of broker 1",
        ),
        (
            ["listeners=PLAINTEXT://127.0.0.1:65534"],
            "listener PLAINTEXT of broker 3: there is no port 65536",
        ),
        (
            ["listeners=PLAINTEXT://127.0.0.1:0", "advertised.listeners=PLAINTEXT://here:65535"],
            "listener PLAINTEXT of broker 2: there is no port 65536 to advertise",
        ),
        (
            [
                "listeners=PLAINTEXT://127.0.0.1:0",
                "broker.lite.gateway.advertised=localhost:65534",
            ],
            "listener PLAINTEXT of broker 3: there is no port 65536 to advertise",
        ),
    ],
)
def test_ports_that_cannot_be(tmp_path: Path, settings: list[str], message: str) -> None:
    flags = [word for setting in settings for word in ("--set", setting)]
    done = run_process("serve", *BROKERS, "--data-dir", str(tmp_path), *flags)
    assert (done.code, done.out, done.err) == (2, "", f"broker-lite: {message}\n")


def test_the_port_of_a_further_broker_is_taken(tmp_path: Path) -> None:
    first = free_ports(3)
    with socket.create_server(("127.0.0.1", first + 1)):
        done = run_process("serve", *BROKERS, "--data-dir", str(tmp_path), "--port", str(first))
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert f"127.0.0.1:{first + 1}" in done.err


def test_listeners_of_one_broker_share_a_port_at_different_addresses(tmp_path: Path) -> None:
    port = free_ports(3)
    listeners = f"listeners=A://127.0.0.1:{port},B://127.0.0.2:{port}"
    with serving(tmp_path, "--set", listeners, "--set", NAMES) as addresses:
        assert addresses == [("127.0.0.1", port + step) for step in range(3)]
