"""The CPU time of both ends."""

import os
import re
import socket
from collections.abc import Iterator

import pytest

from broker_lite.errors import ClientError, SettingsError
from broker_lite.load.cpu import CpuByMetrics, CpuMeter, CpuOfProcess
from broker_lite.testing import Broker
from tests.support.scripted_server import ScriptedServer


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker({"broker.lite.control": "127.0.0.1:0"}) as running:
        yield running


def test_of_a_process() -> None:
    spent_s = CpuOfProcess(os.getpid()).read_s()
    times = os.times()
    assert 0 < spent_s <= times.user + times.system + 0.02


def test_of_no_process() -> None:
    with pytest.raises(ClientError, match="no CPU time of process 2147483647: No such file"):
        CpuOfProcess(2**31 - 1).read_s()


def test_by_the_metrics_of_a_broker(broker: Broker) -> None:
    found = re.search(r"control API at (http://\S+)", broker.log)
    assert found is not None
    assert CpuByMetrics(found[1]).read_s() > 0


def test_a_url_that_is_none() -> None:
    with pytest.raises(SettingsError, match="no URL of a control API"):
        CpuByMetrics("ftp://here")


class Counting:
    """CPU time that grows by 3 s with each reading, until it fails."""

    def __init__(self, *readings_s: float | None) -> None:
        self._readings_s = iter(readings_s)

    def read_s(self) -> float:
        found = next(self._readings_s)
        if found is None:
            raise ClientError("it has gone")
        return found


def test_what_both_spent_meanwhile() -> None:
    meter = CpuMeter(Counting(4, 7))
    meter.begin()
    assert meter.broker_s() is None
    meter.end()
    assert meter.broker_s() == 3
    assert meter.client_s >= 0
    assert meter.problem == ""


def test_a_broker_that_goes_away() -> None:
    meter = CpuMeter(Counting(4, None))
    meter.begin()
    assert meter.broker_s() is None
    meter.end()
    assert meter.broker_s() is None
    assert meter.problem == "it has gone"


def test_nobody_asked_for_the_broker() -> None:
    meter = CpuMeter(None)
    meter.begin()
    meter.end()
    assert meter.broker_s() is None


def test_a_server_that_does_not_tell() -> None:
    def refuse(client: socket.socket) -> None:
        client.recv(1 << 16)
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nother 1\n")

    with (
        ScriptedServer(refuse) as server,
        pytest.raises(ClientError, match="/metrics does not tell process_cpu_seconds_total"),
    ):
        CpuByMetrics(f"http://{server.bootstrap}").read_s()
