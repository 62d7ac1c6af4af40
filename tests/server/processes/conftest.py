"""A cluster of processes, as its users start it."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TypeVar

import psutil
import pytest

from broker_lite.testing import Broker
from tests.support.handler_broker import LISTENER, OpenBroker, handler_broker
from tests.support.measured_children import measured_children

__all__ = ["measured_children", "open_broker", "started"]

PROCESSES = 3
TIMEOUT_S = 30.0
NAME = "broker-lite "
"""What the names of processes begin with, before the id of their broker."""

Found = TypeVar("Found")


class Cluster:
    """A broker of several processes, and what a test looks at."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Host and port of each broker, in the order of their ids."""
        pairs = (each.rpartition(":") for each in self.broker.bootstrap.split(","))
        return [(host, int(port)) for host, _, port in pairs]

    def children(self) -> list[psutil.Process]:
        """All processes of the broker but the first one."""
        return psutil.Process(self.broker.pid).children()

    def processes(self) -> dict[int, psutil.Process]:
        """The further processes that run, by the ids of their brokers."""
        found = {}
        for process in self.children():
            with suppress(psutil.NoSuchProcess):  # it has just ended
                name = process.name()
                if name.startswith(NAME):
                    found[int(name.removeprefix(NAME))] = process
        return found


def wait_until(look: Callable[[], Found]) -> Found:
    """Wait until something is there, and return it."""
    deadline_s = time.monotonic() + TIMEOUT_S
    while not (found := look()):
        assert time.monotonic() < deadline_s, "it did not come"
        time.sleep(0.02)
    return found


@pytest.fixture
def started() -> Iterator[Cluster]:
    """A fresh cluster."""
    with Broker({"broker.lite.processes": str(PROCESSES)}) as broker:
        yield Cluster(broker)


@pytest.fixture
def open_broker(tmp_path: Path) -> Iterator[OpenBroker]:
    """Opens a broker without a socket, whose context a test may use."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(handler_broker(tmp_path / "data", {}, LISTENER))
