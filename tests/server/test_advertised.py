"""Which address a client is told, by how it came: a broker on a network with a gateway.

The gateway's machine stands for a container's host, whose published ports come from it; the other
one stands for a second container.
"""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.broker_process import READY, STOP_TIMEOUT_S
from tests.support.lan import Machine, lan

pytestmark = pytest.mark.slow

FOLLOWING, EXPLICIT = 9092, 9093
SPACED = 9192  # leaves room for the ports of further brokers
LISTENERS = (
    "listener.security.protocol.map=FOLLOWING:PLAINTEXT,EXPLICIT:PLAINTEXT",
    f"listeners=FOLLOWING://:{FOLLOWING},EXPLICIT://[::]:{EXPLICIT}",
    "advertised.listeners=EXPLICIT://broker.example:19093",
)


class Network(NamedTuple):
    gateway: Machine
    broker: Machine
    other: Machine

    def told(self, client: Machine, host: str, port: int = FOLLOWING) -> str:
        """What a client on this machine is told that dials the address."""
        program = (sys.executable, "-m", "tests.support.told_addresses", host, str(port))
        (address,) = client.run(*program).splitlines()
        return address

    def told_of_all(self, client: Machine, host: str, port: int) -> set[str]:
        """The addresses of several brokers that a client on this machine is told."""
        program = (sys.executable, "-m", "tests.support.told_addresses", host, str(port))
        return {*client.run(*program).splitlines()}


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with lan(3) as machines:
        yield Network(*machines)


@contextmanager
def serving(machine: Machine, data_dir: Path, *settings: str) -> Iterator[None]:
    words = (word for setting in (*LISTENERS, *settings) for word in ("--set", setting))
    command = (sys.executable, "-m", "broker_lite", "serve", "--data-dir", str(data_dir), *words)
    with subprocess.Popen(machine.command(*command), stdout=subprocess.PIPE, text=True) as broker:
        try:
            assert broker.stdout is not None
            assert READY.match(broker.stdout.readline())
            yield
        finally:
            broker.send_signal(signal.SIGTERM)
            assert broker.wait(STOP_TIMEOUT_S) == 0


def test_with_an_address_for_clients_behind_the_gateway(network: Network, tmp_path: Path) -> None:
    gateway, broker, other = network
    with serving(broker, tmp_path, "broker.lite.gateway.advertised=localhost:19092"):
        for dialled in (broker.ipv4, broker.ipv6):
            assert network.told(gateway, dialled) == "localhost 19092"
            for client in (other, broker):
                assert network.told(client, dialled) == f"{dialled} {FOLLOWING}"
        for loopback in ("127.0.0.1", "::1"):
            assert network.told(broker, loopback) == f"{loopback} {FOLLOWING}"
        for client in network:
            assert network.told(client, broker.ipv4, EXPLICIT) == "broker.example 19093"


def test_the_listeners_own_port_is_told_without_another(network: Network, tmp_path: Path) -> None:
    gateway, broker, _ = network
    with serving(broker, tmp_path, "broker.lite.gateway.advertised=localhost"):
        assert network.told(gateway, broker.ipv4) == f"localhost {FOLLOWING}"


def test_without_one_everybody_is_told_what_was_dialled(network: Network, tmp_path: Path) -> None:
    gateway, broker, _ = network
    with serving(broker, tmp_path):
        assert network.told(gateway, broker.ipv4) == f"{broker.ipv4} {FOLLOWING}"


def test_of_several_brokers_each_has_the_next_port(network: Network, tmp_path: Path) -> None:
    gateway, broker, other = network
    settings = ("broker.lite.brokers=3", "broker.lite.gateway.advertised=localhost:19092")
    listeners = f"listeners=FOLLOWING://:{FOLLOWING},EXPLICIT://[::]:{SPACED}"
    with serving(broker, tmp_path, *settings, listeners):
        for step in range(3):
            told = network.told_of_all(gateway, broker.ipv4, FOLLOWING + step)
            assert told == {f"localhost {port}" for port in (19092, 19093, 19094)}
            told = network.told_of_all(other, broker.ipv6, FOLLOWING + step)
            assert told == {f"{broker.ipv6} {FOLLOWING + one}" for one in range(3)}
            told = network.told_of_all(other, broker.ipv4, SPACED + step)
            assert told == {f"broker.example {port}" for port in (19093, 19094, 19095)}
