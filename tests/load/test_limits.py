"""What a broker says about the limit of the connections of a load."""

import re
import socket
import threading
from typing import Any

import pytest

from broker_lite.client import Client
from broker_lite.errors import ClientError
from broker_lite.load.limits import LimitsMeter, summary
from broker_lite.testing import Broker
from tests.support.scripted_server import ScriptedServer


def view(limit: str, out_bytes: int, **more: object) -> dict[str, object]:
    return {
        "software": "broker-lite 1",
        "requests": 5,
        "in_bytes": 0,
        "out_bytes": out_bytes,
        "limit": limit,
        "sentence": f"{limit} {out_bytes}",
        **more,
    }


def test_what_moved_the_most_bytes_counts() -> None:
    views = [
        view("network", 100),
        view("client", 60),
        view("client", 70),
        view("other", 10**9, software="apache-kafka-java 4"),
        view("other", 10**9, requests=0),
    ]
    assert summary({"connections": views}) == {
        "limit": "client",
        "sentence": "client 70",
        "connections": "2 of 3 connections",
    }


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("text", "no answer about limits"),
        ({"connections": {}}, "no answer about limits"),
        ({"connections": [1, None, {}]}, "it saw no request of this load"),
    ],
)
def test_what_is_no_answer(body: Any, text: str) -> None:
    with pytest.raises(ClientError, match=text):
        summary(body)


def test_long_texts_are_cut() -> None:
    found = summary({"connections": [view("x" * 10_000, 5)]})
    assert [len(str(text)) <= 300 for text in found.values()] == [True] * 3


def test_a_broker_is_asked_while_it_works() -> None:
    with Broker({"broker.lite.control": "127.0.0.1:0"}) as broker:
        url = re.search(r"control API at (http://\S+)", broker.log)
        assert url is not None
        is_over = threading.Event()

        def ask() -> None:
            with Client(broker.bootstrap) as client:
                while not is_over.is_set():
                    client.metadata()

        load = threading.Thread(target=ask)
        load.start()
        meter = LimitsMeter(url[1], 1.0)
        meter.begin()
        meter.wait()
        is_over.set()
        load.join()
    assert set(meter.found) == {"limit", "sentence", "connections"}


def test_a_server_that_refuses() -> None:
    def refuse(client: socket.socket) -> None:
        client.recv(1 << 16)
        client.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n\r\nnot here\n")

    with ScriptedServer(refuse) as server:
        meter = LimitsMeter(f"http://{server.bootstrap}", 0.1)
        meter.begin()
        meter.wait()
    assert meter.found == {"problem": "not here"}


def test_nobody_is_asked() -> None:
    meter = LimitsMeter(None, 1.0)
    meter.begin()
    meter.wait()
    assert meter.found == {}
