"""The health check asks a broker, wherever the broker said it is, and tells in one line."""

import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from broker_lite.docker_entry import healthcheck
from tests.support.broker_process import BrokerProcess
from tests.support.toolchain import lacking

ANSWER = bytes.fromhex("00000006") + b"\x00\x00\x00\x01" + b"\x00\x00"


@contextmanager
def server(answer: bytes, listener: socket.socket | None = None) -> Iterator[str]:
    """A server that reads one request and answers with these bytes, then closes."""
    listener = listener or socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1024)
            connection.sendall(answer)

    with listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


def test_a_broker_is_healthy(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "address")
    with BrokerProcess(tmp_path / "data") as broker:
        assert healthcheck.tell(broker.bootstrap, path)
        assert healthcheck.main(path) == 0
    assert capfd.readouterr() == ("", "")


def test_where_tls_is_spoken_it_has_to_notice_that_a_client_has_gone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "address")
    with BrokerProcess(
        tmp_path / "data", arguments=("--security", "ssl", "--control", "")
    ) as broker:
        assert healthcheck.tell(f"tls:{broker.bootstrap}", path)
        assert healthcheck.main(path) == 0
        broker.freeze()
        assert healthcheck.main(path) == 1
        broker.kill()
    assert "no answer from tls:" in capfd.readouterr().out


def test_one_of_several_brokers_is_enough(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "address")
    with (
        socket.create_server(("127.0.0.1", 0)) as hangs,
        socket.create_server(("127.0.0.1", 0)) as closed,
        server(ANSWER) as address,
    ):
        addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in (closed, hangs)]
        closed.close()
        assert healthcheck.tell(",".join([*addresses, address]), path)
        assert healthcheck.main(path) == 0
    assert capfd.readouterr() == ("", "")


def test_none_of_several_brokers_answers(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "address")
    with (
        socket.create_server(("127.0.0.1", 0)) as first,
        socket.create_server(("127.0.0.1", 0)) as second,
    ):
        addresses = ",".join(f"127.0.0.1:{each.getsockname()[1]}" for each in (first, second))
    assert healthcheck.tell(addresses, path)
    assert healthcheck.main(path) == 1
    assert re.fullmatch(f"no answer from {addresses}: .+refused\n", capfd.readouterr().out)


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]"])
def test_a_broker_on_every_interface_is_asked_on_the_loopback(host: str, tmp_path: Path) -> None:
    path = str(tmp_path / "address")
    with server(ANSWER) as address:
        assert healthcheck.tell(address.replace("127.0.0.1", host), path)
        assert healthcheck.main(path) == 0


def test_an_ipv6_address_is_asked_as_it_is_written(tmp_path: Path) -> None:
    path = str(tmp_path / "address")
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        lacking("IPv6 on the loopback")
    with server(ANSWER, listener):
        assert healthcheck.tell(f"[::1]:{listener.getsockname()[1]}", path)
        assert healthcheck.main(path) == 0


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "it closed the connection"),
        (ANSWER[:7], "it closed the connection"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "it answered"),
        (ANSWER[:-2] + b"\x00\x23", "it answered"),
    ],
    ids=["nothing", "half of it", "another protocol", "an error code"],
)
def test_what_is_no_answer(
    answer: bytes, reason: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "address")
    with server(answer) as address:
        assert healthcheck.tell(address, path)
        assert healthcheck.main(path) == 1
    line = capfd.readouterr().out
    assert line.startswith(f"no answer from {address}: {reason}")
    assert line.count("\n") == 1


def test_nobody_listens(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "address")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    assert healthcheck.tell(address, path)
    assert healthcheck.main(path) == 1
    assert "Connection refused" in capfd.readouterr().out


def test_an_address_that_cannot_be_left_is_no_error(tmp_path: Path) -> None:
    assert not healthcheck.tell("127.0.0.1:9092", str(tmp_path / "missing" / "address"))


def test_it_imports_nothing_but_what_is_part_of_the_interpreter() -> None:
    code = (
        "import os, sys; known = set(sys.modules)\n"
        f"exec(open({healthcheck.__file__!r}).read(), {{'__name__': 'probe'}})\n"
        "print(*(set(sys.modules) - known))"
    )
    command = [sys.executable, "-I", "-S", "-c", code]
    assert subprocess.check_output(command, text=True).split() == ["_socket"]
