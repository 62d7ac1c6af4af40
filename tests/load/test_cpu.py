"""The CPU time of both ends."""

import os
import re
import socket
from collections.abc import Iterator

import pytest

from broker_lite.errors import ClientError, SettingsError
from broker_lite.load.cpu import CpuMeter, CpuSample, Usage, UsageByMetrics, UsageOfProcess
from broker_lite.testing import Broker
from tests.support.scripted_server import ScriptedServer


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker({"broker.lite.control": "127.0.0.1:0"}) as running:
        yield running


def test_of_a_process() -> None:
    spent_s, memory_bytes = UsageOfProcess(os.getpid()).read()
    times = os.times()
    assert 0 < spent_s <= times.user + times.system + 0.02
    assert memory_bytes is not None
    assert memory_bytes > 1 << 20


def test_of_no_process() -> None:
    with pytest.raises(ClientError, match="no CPU time of process 2147483647: No such file"):
        UsageOfProcess(2**31 - 1).read()


def test_by_the_metrics_of_a_broker(broker: Broker) -> None:
    found = re.search(r"control API at (http://\S+)", broker.log)
    assert found is not None
    cpu_s, memory_bytes = UsageByMetrics(found[1]).read()
    assert cpu_s > 0
    assert memory_bytes is not None
    assert memory_bytes > 1 << 20


def test_a_url_that_is_none() -> None:
    with pytest.raises(SettingsError, match="no URL of a control API"):
        UsageByMetrics("ftp://here")


class Counting:
    """CPU time that grows by 3 s with each reading, until it fails."""

    def __init__(self, *readings_s: float | None) -> None:
        self._readings_s = iter(readings_s)

    def read(self) -> Usage:
        found = next(self._readings_s)
        if found is None:
            raise ClientError("it has gone")
        return Usage(found, 1000)


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


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("other 1", "/metrics does not tell process_cpu_seconds_total"),
        ("process_cpu_seconds_total much", "/metrics tells 'much' instead of a number"),
        ("process_cpu_seconds_total nan", "/metrics tells 'nan' instead of a number"),
    ],
)
def test_a_server_that_does_not_tell(line: str, text: str) -> None:
    def refuse(client: socket.socket) -> None:
        client.recv(1 << 16)
        client.sendall(f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{line}\n".encode())

    with (
        ScriptedServer(refuse) as server,
        pytest.raises(ClientError, match=text),
    ):
        UsageByMetrics(f"http://{server.bootstrap}").read()


def test_a_sample_each_second() -> None:
    meter = CpuMeter(Counting(4, 7, 9))
    meter.begin()
    meter.end()
    assert meter.broker_s() == 3
    meter.sample(1, 0.5)
    assert meter.samples == [CpuSample(1, 0.5, 7, 1000)]
