"""Clients and brokers that are the limit, each in its way, and what is said of them."""

import random
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from broker_lite.record.builder import BatchBuilder
from broker_lite.testing import Broker
from broker_lite.wire import messages
from tests.bench.group_frames import frame
from tests.bench.load_client import batch_of, create_topic, fetch_frame, produce_frame
from tests.support.pacing_proxy import pacing_proxy

WINDOW_MS = 1500
LARGE_BYTES = 4_000_000
PIPELINED = 1000
"""The broker has enough to do with them while their clients wait for a processor."""


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker({"log.flush.interval.messages": 1}, topics=["filled", "little", "slow"]) as started:
        host, port = address(started)
        create_topic(
            host,
            port,
            "squeezed",
            compression_type="gzip",
            compression_gzip_level="9",
            message_timestamp_before_max_ms=str(2**62),
        )
        with socket.create_connection((host, port)) as sock:
            for _ in range(5):
                ask(sock, produce_frame("filled", batch_of(900, 1000)))
            ask(sock, produce_frame("little", batch_of(1, 1000)))
        yield started


def address(broker: Broker) -> tuple[str, int]:
    host, _, port = broker.bootstrap.rpartition(":")
    return host, int(port)


def ask(sock: socket.socket, frame: bytes) -> None:
    """Send a request, and read its answer as fast as it comes."""
    sock.sendall(frame)
    skip(sock)


def skip(sock: socket.socket) -> None:
    """Read an answer."""
    left = int.from_bytes(sock.recv(4, socket.MSG_WAITALL), "big")
    while left:
        left -= len(sock.recv(min(left, 1 << 20)))


@contextmanager
def client(
    broker: Broker,
    go_on: Callable[[socket.socket], None],
    through: tuple[str, int] | None = None,
) -> Iterator[str]:
    """A client that does the same again and again; gives its HOST:PORT.

    Args:
        broker: to which it connects.
        go_on: what it does.
        through: the address of a proxy, to which it connects instead.
    """
    ended = threading.Event()
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        sock.connect(through or address(broker))

        def run() -> None:
            while not ended.is_set():
                try:
                    go_on(sock)
                except OSError:  # the test is over, and its proxy gone
                    return

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield "{}:{}".format(*sock.getsockname())
        finally:
            ended.set()
            thread.join(30)


PARTS = ("not_asking", "not_reading", "on_network", "nothing_to_give", "throttled", "at_broker")


def limit_of(broker: Broker, name: str) -> dict[str, Any]:
    return limits_of(broker)[name]


def limits_of(broker: Broker) -> dict[str, dict[str, Any]]:
    """Look at all connections; return what is said of each, by its HOST:PORT."""
    found: Any = broker.control("GET", f"/v1/limits?window_ms={WINDOW_MS}")
    assert found["seconds"] >= WINDOW_MS / 1000 * 0.9
    for view in found["connections"]:
        assert sum(view[part] for part in PARTS) == pytest.approx(1, abs=0.1)
    return {view["client"]: view for view in found["connections"]}


def wait_for_another(broker: Broker, known: Collection[str]) -> None:
    """Wait for a client that is not known: who connects during a look is not told of."""
    end_s = time.monotonic() + 10
    while True:
        found: Any = broker.control("GET", "/v1/connections")
        if any(each["client"] not in known for each in found):
            return
        assert time.monotonic() < end_s, found
        time.sleep(0.01)


def test_a_client_that_asks_for_nothing(broker: Broker) -> None:
    with client(broker, lambda _: time.sleep(0.05)) as name:
        found = limit_of(broker, name)
    assert found["limit"] == "nobody"
    assert found["requests"] == 0


def test_a_client_that_is_slow_to_ask(broker: Broker) -> None:
    def go_on(sock: socket.socket) -> None:
        ask(sock, fetch_frame("filled", 0, LARGE_BYTES))
        time.sleep(0.2)

    with client(broker, go_on) as name:
        found = limit_of(broker, name)
    assert found["limit"] == "client: it does not ask", str(found)
    assert found["sentence"].endswith("The client is the limit.")
    assert found["out_bytes"] > 500_000


def test_a_client_that_is_slow_to_read(broker: Broker) -> None:
    def go_on(sock: socket.socket) -> None:
        sock.sendall(fetch_frame("filled", 0, LARGE_BYTES))
        left = int.from_bytes(sock.recv(4, socket.MSG_WAITALL), "big")
        while left:
            left -= len(sock.recv(min(left, 40_000)))
            time.sleep(0.01)

    with client(broker, go_on) as name:
        found = limit_of(broker, name)
    assert found["limit"] == "client: it does not read", str(found)
    assert found["window_closed"] > 0.3


def test_a_client_that_asks_for_little_at_a_time(broker: Broker) -> None:
    little = fetch_frame("little", 0, 1000)

    def go_on(sock: socket.socket) -> None:
        for _ in range(10):
            ask(sock, little)

    with client(broker, go_on) as name:
        found = limit_of(broker, name)
    assert found["limit"] == "client: its requests are small", str(found)
    assert "round trips" in found["sentence"]


def test_a_broker_that_compresses(broker: Broker) -> None:
    builder, chance = BatchBuilder(), random.Random(1)
    for _ in range(900):
        builder.append(timestamp=1, key=None, value=chance.randbytes(500).hex().encode())
    produce = produce_frame("squeezed", bytes(builder.build()))
    with client(broker, lambda sock: ask(sock, produce)) as name:
        found = limit_of(broker, name)
    assert found["limit"] in {"broker: its threads are busy", "broker: its event loop is busy"}, (
        found
    )
    assert found["sentence"].endswith("The broker is the limit.")


def test_a_broker_with_a_slow_disk(broker: Broker) -> None:
    produce = produce_frame("slow", batch_of(1, 100))
    with (
        broker.fault(disk="fsync", topic="slow", delay_ms=200, count=-1),
        client(broker, lambda sock: ask(sock, produce)) as name,
    ):
        found = limit_of(broker, name)
    assert found["limit"] == "broker: it waits", str(found)
    assert "waits for a disk" in found["sentence"]


def test_a_topic_without_new_records(broker: Broker) -> None:
    kind = messages.FetchRequest
    end = kind.FetchPartition(partition=0, fetch_offset=4500, partition_max_bytes=LARGE_BYTES)
    poll = frame(
        "Fetch",
        12,
        max_wait_ms=300,
        min_bytes=1,
        max_bytes=LARGE_BYTES,
        session_epoch=-1,
        topics=[kind.FetchTopic(topic="filled", partitions=[end])],
    )
    with client(broker, lambda sock: ask(sock, poll)) as name:
        found = limit_of(broker, name)
    assert found["limit"] == "nothing to give", str(found)


PRODUCE_LARGE = produce_frame("filled", batch_of(900, 1000))
FETCH_LARGE = fetch_frame("filled", 0, LARGE_BYTES)


@pytest.mark.parametrize(
    ("setting", "value", "frame"),
    [
        pytest.param("out.byte.rate", 4_000_000, FETCH_LARGE, id="answers"),
        pytest.param("in.byte.rate", 2_000_000, PRODUCE_LARGE, id="requests"),
        pytest.param("rtt.ms", 400, FETCH_LARGE, id="round trips"),
    ],
)
def test_p_17_a_slow_network_that_the_broker_makes(setting: str, value: int, frame: bytes) -> None:
    with Broker({f"broker.lite.pace.{setting}": value}, topics=["filled"]) as far:
        with socket.create_connection(address(far)) as sock:
            ask(sock, PRODUCE_LARGE)
        with client(far, lambda sock: ask(sock, frame)) as name:
            found = limit_of(far, name)
    assert found["limit"] == "network", str(found)
    assert found["sentence"].endswith("The network is the limit.")


def test_p_17_a_client_that_does_not_read_what_comes_over_a_slow_network() -> None:
    def go_on(sock: socket.socket) -> None:
        sock.sendall(FETCH_LARGE)
        left = int.from_bytes(sock.recv(4, socket.MSG_WAITALL), "big")
        while left:
            left -= len(sock.recv(min(left, 20_000)))
            time.sleep(0.02)

    with Broker({"broker.lite.pace.out.byte.rate": 20_000_000}, topics=["filled"]) as far:
        with socket.create_connection(address(far)) as sock:
            for _ in range(5):
                ask(sock, PRODUCE_LARGE)
        with client(far, go_on) as name:
            found = limit_of(far, name)
    assert found["limit"] == "client: it does not read", str(found)


@pytest.mark.parametrize(
    ("frame", "limit", "whose"),
    [
        pytest.param(PRODUCE_LARGE, "network", "The network is the limit.", id="requests"),
        pytest.param(
            FETCH_LARGE,
            "client: it does not read",
            "The client is the limit, or a proxy in front of it.",
            id="answers",
        ),
    ],
)
def test_a_pacing_proxy(broker: Broker, frame: bytes, limit: str, whose: str) -> None:
    """The broker's connection ends at the proxy, which takes answers as a slow client does."""
    before = limits_of(broker)
    with (
        pacing_proxy(address(broker), 4_000_000) as proxy,
        client(broker, lambda sock: ask(sock, frame), through=proxy),
    ):
        wait_for_another(broker, before)
        (found,) = [view for name, view in limits_of(broker).items() if name not in before]
    assert found["limit"] == limit, str(found)
    assert found["sentence"].endswith(whose)


def test_a_saturated_loop(broker: Broker) -> None:
    """The requests of a client that sends one at a time wait in the kernel."""
    little = produce_frame("little", batch_of(1, 100))

    with socket.create_connection(address(broker)) as sock:
        sock.sendall(little)
        size = int.from_bytes(sock.recv(4, socket.MSG_WAITALL), "big")
        sock.recv(size, socket.MSG_WAITALL)

    def many(sock: socket.socket) -> None:
        sock.sendall(little * PIPELINED)
        left = (4 + size) * PIPELINED
        while left:
            left -= len(sock.recv(left))

    with ExitStack() as stack:
        for _ in range(12):
            stack.enter_context(client(broker, many))
        name = stack.enter_context(client(broker, lambda sock: ask(sock, little)))
        found = limits_of(broker)[name]
    assert found["limit"] == "broker: its event loop is busy", str(found)
    assert found["sentence"].endswith("The broker is the limit.")
