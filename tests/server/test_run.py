"""A broker from its start to its end: P-16."""

import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from broker_lite.errors import SettingsError
from broker_lite.seed.marker import SEED_MARKER_FILE
from broker_lite.server.orders import Order, Orders
from broker_lite.server.run import serve, stop_signals
from broker_lite.settings import Given, Settings

API_VERSIONS_0 = struct.pack(">ihhih", 10, 18, 0, 7, -1)


def settings_with(**texts: str) -> Settings:
    texts = {"listeners": "PLAINTEXT://127.0.0.1:0", **texts}
    return Settings({name.replace("_", "."): Given(text, "test") for name, text in texts.items()})


@pytest.fixture(autouse=True)
def _signals_as_before() -> Iterator[None]:
    """serve() leaves handlers that do nothing; the tests after these want Ctrl-C again."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Talk:
    """What happens in a thread while serve() has the main one; it ends with a signal."""

    def __init__(self, client: Callable[[tuple[str, int]], None], number: signal.Signals) -> None:
        self._client = client
        self._number = number
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self.stopped_at = 0.0

    def ready(self, address: str) -> None:
        self._thread = threading.Thread(target=self._run, args=(address,))
        self._thread.start()

    def _run(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        try:
            self._client((host, int(port)))
        except BaseException as error:  # told to the test by end()
            self._error = error
        self.stopped_at = time.monotonic()
        os.kill(os.getpid(), self._number)

    def end(self) -> None:
        assert self._thread is not None
        self._thread.join()
        if self._error is not None:
            raise self._error


def ask_versions(address: tuple[str, int]) -> None:
    with socket.create_connection(address, timeout=5) as sock:
        sock.sendall(API_VERSIONS_0)
        size, correlation_id, error = struct.unpack(">iih", sock.recv(10, socket.MSG_WAITALL))
        assert (correlation_id, error) == (7, 0)
        assert len(sock.recv(size - 6, socket.MSG_WAITALL)) == size - 6


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_p_16_a_signal_stops_it_within_a_second(tmp_path: Path, number: signal.Signals) -> None:
    talk = Talk(ask_versions, number)
    assert serve(settings_with(), data_dir=tmp_path, ready=talk.ready) == 0
    assert time.monotonic() - talk.stopped_at < 1
    talk.end()


def test_an_open_connection_does_not_delay_the_stop(tmp_path: Path) -> None:
    sockets = []

    def connect(address: tuple[str, int]) -> None:
        sockets.append(socket.create_connection(address, timeout=5))
        sockets[0].sendall(API_VERSIONS_0)
        sockets[0].recv(4)

    talk = Talk(connect, signal.SIGTERM)
    assert serve(settings_with(), data_dir=tmp_path, ready=talk.ready, durable=False) == 0
    assert time.monotonic() - talk.stopped_at < 1
    talk.end()
    sockets[0].close()


def test_the_next_start_is_a_clean_one(tmp_path: Path) -> None:
    for _ in range(2):
        talk = Talk(ask_versions, signal.SIGTERM)
        serve(settings_with(), data_dir=tmp_path, ready=talk.ready)
        talk.end()
        assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_a_taken_port_is_told_and_the_directory_given_back(tmp_path: Path) -> None:
    def never(address: str) -> None:
        raise AssertionError(address)

    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = settings_with(listeners=f"PLAINTEXT://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(SettingsError, match="Address already in use"):
            serve(settings, data_dir=tmp_path, ready=never)
    talk = Talk(ask_versions, signal.SIGTERM)
    assert serve(settings_with(), data_dir=tmp_path, ready=talk.ready) == 0
    talk.end()


def test_an_emulated_release_offers_less(tmp_path: Path) -> None:
    talk = Talk(ask_versions, signal.SIGTERM)
    assert serve(settings_with(emulate="2.8"), data_dir=tmp_path, ready=talk.ready) == 0
    talk.end()


def test_a_stop_before_it_is_ready_is_no_start(tmp_path: Path) -> None:
    path = tmp_path / "seed.jsonl"
    path.write_text('{"topic":"t","value":"v"}\n' * 100_000)
    data_dir = tmp_path / "data"

    def never(address: str) -> None:
        raise AssertionError(address)

    def stop_in_the_middle() -> None:
        while not (data_dir / SEED_MARKER_FILE).exists():
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=stop_in_the_middle)
    thread.start()
    settings = settings_with(broker_lite_seed_file=str(path))
    assert serve(settings, data_dir=data_dir, ready=never) == 0
    thread.join()
    assert (data_dir / SEED_MARKER_FILE).exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.asyncio
async def test_s44_who_recovers_logs_hears_of_a_signal_at_once(number: signal.Signals) -> None:
    """The loop hears of it when it runs again."""
    with Orders() as orders, stop_signals(orders) as is_told:
        assert not is_told()
        signal.raise_signal(number)
        assert is_told()
        assert await orders.next() is Order.STOP
