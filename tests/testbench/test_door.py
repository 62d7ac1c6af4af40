"""The door: addresses, the control API of a real broker over HTTP, and by lines of JSON.

Also tests: broker_lite.testbench.bench, broker_lite.server.life,
broker_lite.testbench.control.table, broker_lite.testbench.http.server.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import pytest

from broker_lite.errors import SettingsError
from broker_lite.testbench.door import address_of
from broker_lite.testbench.http.client import ControlClient
from broker_lite.testing import Broker, BrokerFailed
from tests.support.broker_process import BrokerProcess


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("", None),
        ("9099", ("127.0.0.1", 9099)),
        (":9099", ("127.0.0.1", 9099)),
        ("0.0.0.0:0", ("0.0.0.0", 0)),
        ("[::1]:9099", ("::1", 9099)),
        ("localhost:65535", ("localhost", 65535)),
    ],
)
def test_addresses(text: str, address: tuple[str, int] | None) -> None:
    assert address_of(text) == address


@pytest.mark.parametrize("text", ["x", "localhost", "localhost:", ":65536", "h:-1", "h:123456"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(SettingsError, match="is not HOST:PORT"):
        address_of(text)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where `broker-lite serve --control` says that its control API is."""
    data_dir = tmp_path_factory.mktemp("data") / "data"
    command = [sys.executable, "-m", "broker_lite", "serve", "--port", "0", "--topic", "t:2"]
    command += ["--control", "127.0.0.1:0", "--data-dir", str(data_dir)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        said = b""
        while b"control API at " not in said:
            said = process.stderr.readline()
            assert said, "it ended"
        while b"ready on" not in process.stdout.readline():
            pass
        yield said.partition(b"control API at ")[2].decode().strip()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def ask(url: str, method: str, path: str, body: object = None) -> tuple[int, object]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, method=method)
    request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read())


def test_over_http(url: str) -> None:
    status, about = ask(url, "GET", "/v1")
    assert status == 200
    assert isinstance(about, dict)
    assert about["name"] == "broker-lite"
    assert "GET /v1/ready" in about["resources"]
    assert ask(url, "GET", "/v1/ready") == (200, {})
    assert ask(url, "GET", "/v1/brokers/1")[0] == 200
    assert ask(url, "GET", "/v1/brokers/2") == (404, {"error": "there is no broker 2"})
    status, before = ask(url, "GET", "/v1/clock")
    status, after = ask(url, "POST", "/v1/clock", {"advance_ms": 3_600_000})
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    assert after["now_ms"] - before["now_ms"] >= 3_600_000


def test_a_reset_over_http(url: str) -> None:
    assert ask(url, "PATCH", "/v1/brokers/1", {"state": "hung"})[0] == 200
    assert ask(url, "POST", "/v1/reset") == (200, {})
    status, broker = ask(url, "GET", "/v1/brokers/1")
    assert isinstance(broker, dict)
    assert (status, broker["state"]) == (200, "up")
    assert ask(url, "GET", "/v1/topics/t/1")[0] == 200


def test_a_port_that_is_taken(url: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "broker_lite", "serve", "--port", "0"]
    command += ["--control", url.removeprefix("http://"), "--data-dir", str(tmp_path / "data")]
    ended = subprocess.run(command, capture_output=True, timeout=30, check=False, env=os.environ)
    assert ended.returncode == 2
    assert b"cannot listen on 127.0.0.1:" in ended.stderr


@pytest.fixture(scope="module")
def running() -> Iterator[Broker]:
    with Broker() as started:
        yield started


@pytest.mark.parametrize(
    ("method", "path", "body", "text"),
    [
        ("GET", "/v1/nothing", None, "there is no /v1/nothing"),
        ("PUT", "/v1/ready", None, "/v1/ready has GET, and no PUT"),
        ("PATCH", "/v1/brokers/1", "up", "Expected `object`, got `str`"),
        ("PATCH", "/v1/brokers/1", [1] * 100_000, "Expected `object`, got `array`"),
    ],
)
def test_by_lines(running: Broker, method: str, path: str, body: object, text: str) -> None:
    with pytest.raises(BrokerFailed) as caught:
        running.control(method, path, body)
    assert text in str(caught.value)
    assert running.control("GET", "/v1/ready") == {}


def test_a_reset_by_lines(running: Broker) -> None:
    running.create_topic("u")
    running.control("POST", "/v1/reset")
    with pytest.raises(BrokerFailed, match="there is no topic 'u'"):
        running.partition("u", 0)


def test_it_stops_with_connections_that_are_kept(tmp_path: Path) -> None:
    """What is left open is a warning, which is an error in the broker's process here."""
    arguments = ("--control", "127.0.0.1:0")
    with BrokerProcess(tmp_path / "data", arguments=arguments) as broker:
        kept = HTTPConnection(broker.control_url.removeprefix("http://"), timeout=30)
        kept.request("GET", "/v1")
        assert kept.getresponse().read()
        assert broker.stop() == 0
        kept.close()


def test_it_stops_with_requests_in_progress(tmp_path: Path) -> None:
    arguments = ["--control", "127.0.0.1:0"]
    with (
        BrokerProcess(tmp_path / "data", arguments=arguments) as broker,
        ThreadPoolExecutor(2) as threads,
    ):
        (line,) = (each for each in broker.log.splitlines() if "control API at " in each)
        client = ControlClient(line.rpartition(" ")[2])
        client.request("PUT", "/v1/requests/recording", {"recording": "headers"})
        client.request("POST", "/v1/faults", {"keys": ["EndTxn"], "hold": True})
        waits = threads.submit(client.request, "POST", "/v1/faults/f1/wait", {})
        follows = threads.submit(list, client.events("/v1/requests/follow"))
        time.sleep(0.2)  # both are in progress now, or will find nobody
        assert broker.stop() == 0
        for each in (waits, follows):
            each.exception(10)
    assert "Traceback" not in broker.log
