"""Orders to a broker that runs: resets, stops, and the lifeline."""

import contextlib
import gc
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import psutil
import pytest

from broker_lite.client import Client
from broker_lite.server.orders import Order, Orders, Step
from broker_lite.server.run import serve
from broker_lite.settings import Given, Settings
from broker_lite.testing.records import create_topic, produce, read_all

TIMEOUT_S = 60
RESETS = 200


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _signals_as_before() -> Iterator[None]:
    """serve() leaves handlers that do nothing; the tests after these want Ctrl-C again."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Owner:
    """Whoever started the broker: a thread that gives orders while serve() has the main one."""

    def __init__(self, plot: Callable[["Owner"], None]) -> None:
        self.sock, theirs = socket.socketpair()
        self.sock.settimeout(TIMEOUT_S)
        self.orders = theirs.detach()
        self._lines = self.sock.makefile("r")
        self._error: BaseException | None = None
        self._plot = plot
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._plot(self)
        except BaseException as error:  # told to the test by end()
            self._error = error
        finally:
            self.sock.shutdown(socket.SHUT_RDWR)

    def ready(self) -> str:
        """Wait for the line that tells of it: HOST:PORT."""
        what, address = self._lines.readline().split()
        assert what == "ready"
        return address

    def stepped(self) -> bool:
        """Wait for the line that says so."""
        return self._lines.readline() == "stepped\n"

    def reset(self) -> str:
        self.sock.sendall(b"reset\n")
        return self.ready()

    def end(self) -> None:
        self._thread.join()
        self._lines.close()
        self.sock.close()
        if self._error is not None:
            raise self._error


def run(plot: Callable[[Owner], None], data_dir: Path, **texts: str) -> None:
    owner = Owner(plot)
    texts = {"listeners": "PLAINTEXT://127.0.0.1:0", **texts}
    settings = Settings(
        {name.replace("_", "."): Given(text, "test") for name, text in texts.items()}
    )
    try:
        code = serve(
            settings, data_dir=data_dir, ready=lambda _: None, durable=False, orders=owner.orders
        )
    finally:
        owner.end()
    assert code == 0


def topic_names(address: str) -> set[str]:
    with Client(address) as client:
        return {topic.name for topic in client.metadata().topics}


def cluster_ids(address: str) -> tuple[str, int]:
    with Client(address) as client:
        answer = client.metadata(())
        return answer.cluster_id, answer.brokers[0].node_id


def test_a_reset_leaves_nothing_but_who_the_broker_is(tmp_path: Path) -> None:
    def plot(owner: Owner) -> None:
        address = owner.ready()
        before = cluster_ids(address)
        create_topic(address, "t", partitions=3, configs={})
        produce(address, "t", [b"1"], key=None, headers=(), partition=2, timestamp_ms=None)
        assert owner.reset() == address
        assert topic_names(address) == set()
        assert cluster_ids(address) == before
        produce(address, "t", [b"2"], key=None, headers=(), partition=0, timestamp_ms=None)
        assert [record.value for record in read_all(address, "t", read_committed=False)] == [b"2"]

    (tmp_path / "notes").write_text("not the broker's")
    run(plot, tmp_path)
    assert (tmp_path / "notes").exists()


def test_a_reset_seeds_again(tmp_path: Path) -> None:
    def plot(owner: Owner) -> None:
        address = owner.ready()
        create_topic(address, "more", partitions=1, configs={})
        owner.reset()
        assert topic_names(address) == {"first"}

    run(plot, tmp_path, broker_lite_topics="first:2")


def test_a_reset_closes_connections_and_those_to_come_wait(tmp_path: Path) -> None:
    def plot(owner: Owner) -> None:
        address = owner.ready()
        host, _, port = address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as old:
            with Client(address):  # by now the other one has been accepted
                pass
            owner.sock.sendall(b"reset\n")
            assert old.recv(1) == b""
            assert topic_names(address) == set()
        owner.ready()

    run(plot, tmp_path)


def test_resets_leak_nothing(tmp_path: Path) -> None:
    process = psutil.Process()

    def state() -> tuple[int, int, int]:
        gc.collect()  # the more other tests hold, the later garbage goes by itself
        return process.num_fds(), process.num_threads(), process.memory_info().rss

    def plot(owner: Owner) -> None:
        address = owner.ready()
        for _ in range(10):
            owner.reset()
        fds_before, threads_before, rss_before = state()
        for number in range(RESETS):
            if not number % 20:
                create_topic(address, "t", partitions=1, configs={})
            owner.reset()
        fds, threads, rss = state()
        assert fds <= fds_before + 1
        assert threads <= threads_before + 1
        assert rss - rss_before < 16 << 20

    run(plot, tmp_path)


def test_s50_a_step_of_the_clock_makes_retention_due(tmp_path: Path) -> None:
    """Also while something is seeded, and between two lives."""

    def values(address: str) -> list[bytes | None]:
        return [record.value for record in read_all(address, "t", read_committed=False)]

    def plot(owner: Owner) -> None:
        owner.sock.sendall(b"step 1\n")
        address = owner.ready()
        assert owner.stepped()
        for step_ms, left in ((0, [b"1"]), (3_000_000, [b"1"]), (700_000, [])):
            if not step_ms:
                produce(address, "t", [b"1"], key=None, headers=(), partition=0, timestamp_ms=None)
            owner.sock.sendall(b"step %d\n" % step_ms)
            assert owner.stepped()
            assert values(address) == left
        owner.reset()
        produce(address, "t", [b"2"], key=None, headers=(), partition=0, timestamp_ms=None)
        owner.sock.sendall(b"step 0\n")
        assert owner.stepped()
        assert values(address) == [b"2"]

    run(plot, tmp_path, log_retention_hours="1", broker_lite_topics="t")


def test_a_stop_is_a_clean_one(tmp_path: Path) -> None:
    def plot(owner: Owner) -> None:
        owner.ready()
        owner.sock.sendall(b"stop\n")
        assert owner.sock.recv(1) == b""

    run(plot, tmp_path)
    assert (tmp_path / ".kafka_cleanshutdown").exists()


@pytest.mark.parametrize("last", [b"", b"reset", b"x" * 100, b"nonsense\n"])
def test_the_end_of_the_owner_is_the_end_of_the_broker(tmp_path: Path, last: bytes) -> None:
    def plot(owner: Owner) -> None:
        owner.ready()
        owner.sock.sendall(last)

    run(plot, tmp_path)


def test_a_signal_stops_a_broker_after_a_reset(tmp_path: Path) -> None:
    def plot(owner: Owner) -> None:
        owner.ready()
        owner.reset()
        os.kill(os.getpid(), signal.SIGTERM)
        assert owner.sock.recv(1) == b""

    run(plot, tmp_path)


@pytest.mark.anyio
async def test_orders_come_in_their_order_and_a_stop_goes_first() -> None:
    ours, theirs = socket.socketpair()
    with contextlib.closing(ours), Orders(theirs.detach()) as orders, anyio.fail_after(TIMEOUT_S):
        ours.sendall(b"res")
        await anyio.lowlevel.checkpoint()
        ours.sendall(b"et\nwhat\nstep\nstep -1\nstep x\nreset\nstep 20\n")
        assert [await orders.next(), await orders.next()] == [Order.RESET, Order.RESET]
        assert not orders.are_waiting()
        assert await orders.next() == Step(20)
        ours.sendall(b"reset\n")
        while not orders.are_waiting():
            await anyio.lowlevel.checkpoint()
        orders.stop()
        assert [await orders.next(), await orders.next()] == [Order.STOP, Order.RESET]
        assert not orders.are_waiting()


@pytest.mark.anyio
async def test_without_a_socket_only_signals_give_orders() -> None:
    with Orders() as orders, anyio.fail_after(TIMEOUT_S):
        orders.tell_ready("nobody:1")
        async with anyio.create_task_group() as group:
            group.start_soon(orders.next)
            await anyio.lowlevel.checkpoint()
            orders.stop()


@pytest.mark.anyio
async def test_who_has_gone_is_told_nothing() -> None:
    ours, theirs = socket.socketpair()
    with Orders(theirs.detach()) as orders, anyio.fail_after(TIMEOUT_S):
        ours.close()
        orders.tell_ready("somebody:1")
        assert await orders.next() is Order.STOP
