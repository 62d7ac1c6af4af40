"""A connection of a load, over a pair of sockets."""

import contextlib
import socket
import ssl
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from broker_lite.client import Address, BadAnswer, Connection, NoAnswer, NoConnection
from broker_lite.load.lane import Request
from broker_lite.load.link import Link
from broker_lite.wire import DecodeError
from tests.load.lanes import SECOND
from tests.support.certificates import write_certificates

ADDRESS = Address("there", 9)


class Paired(Connection):
    """A connection over a socket that is connected already."""

    def __init__(self, sock: socket.socket) -> None:
        self.address = ADDRESS
        self._socket = sock
        self._login_due = None


class Lane:
    """Requests of some bytes each, as often as they are wanted."""

    def __init__(self, count: int, *, size_bytes: int = 10, is_answered: bool = True) -> None:
        self.is_answered = is_answered
        self.left = count
        self.parts = (b"head", bytes(size_bytes - 4))
        self.answers: list[bytes] = []
        self.sent: list[int] = []
        self.lost: list[int] = []

    def speak_to(self, connection: Connection) -> None:
        assert connection.address == ADDRESS

    def next_due_ns(self) -> int | None:
        return SECOND if self.left else None

    def take(self, now_ns: int, correlation_id: int) -> Request:
        self.left -= 1
        return Request(SECOND, correlation_id, self.parts, sum(map(len, self.parts)))

    def on_sent(self, request: Request, now_ns: int) -> None:
        self.sent.append(request.number)

    def on_answer(self, request: Request, body: memoryview, now_ns: int) -> None:
        if bytes(body) == b"bad":
            raise DecodeError("it is bad")
        self.answers.append(bytes(body))

    def on_lost(self, requests: Iterable[Request], now_ns: int) -> None:
        self.lost += [request.number for request in requests]


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def linked(lane: Lane, ours: socket.socket, *, in_flight_max: int = 5) -> Link:
    link = Link(lane, in_flight_max=in_flight_max, clock=lambda: 2 * SECOND)
    link.attach(Paired(ours))
    return link


def answer(correlation_id: int, body: bytes) -> bytes:
    head = (len(body) + 4).to_bytes(4, "big") + correlation_id.to_bytes(4, "big")
    return head + body


def read(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += sock.recv(size - len(data))
    return data


def test_as_many_requests_as_may_be_in_flight(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    lane = Lane(7)
    link = linked(lane, ours, in_flight_max=3)
    link.pump(SECOND - 1)
    assert link.in_flight == []  # nothing is due yet
    link.pump(SECOND)
    assert [request.number for request in link.in_flight] == [1, 2, 3]
    assert link.next_due_ns() is None
    assert read(theirs, 30) == (b"head" + bytes(6)) * 3
    theirs.sendall(answer(1, b"one") + answer(2, b"two")[:5])
    link.receive()
    assert lane.answers == [b"one"]
    assert link.next_due_ns() == SECOND
    theirs.sendall(answer(2, b"two")[5:] + answer(3, b"three"))
    link.receive()
    assert lane.answers == [b"one", b"two", b"three"]
    link.receive()  # nothing is there
    assert link.in_flight == []


def test_an_answer_that_is_larger_than_the_buffer(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = pair
    lane = Lane(2)
    link = linked(lane, ours)
    link.pump(SECOND)
    bodies = [bytes(range(250)) * 4000, b"small"]
    left = memoryview(answer(1, bodies[0]) + answer(2, bodies[1]))
    theirs.setblocking(False)
    while len(lane.answers) < 2:
        with contextlib.suppress(BlockingIOError):
            left = left[theirs.send(left) :] if left else left
        link.receive()
    assert lane.answers == bodies


@pytest.mark.parametrize("is_answered", [True, False])
def test_a_request_that_does_not_fit_into_the_socket(
    is_answered: bool, pair: tuple[socket.socket, socket.socket]
) -> None:
    ours, theirs = pair
    lane = Lane(2, size_bytes=3_000_000, is_answered=is_answered)
    link = linked(lane, ours)
    link.pump(SECOND)
    assert link.wants_to_write
    assert link.next_due_ns() is None
    received = 0
    while link.wants_to_write:
        received += len(theirs.recv(1 << 20))
        link.flush()
    assert lane.sent == ([] if is_answered else [1])
    assert lane.left == 1
    while received < 3_000_000:
        received += len(theirs.recv(1 << 20))
    assert received == 3_000_000
    link.flush()  # nothing is left


def test_without_answers_a_request_is_over_when_it_has_left(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    lane = Lane(7, is_answered=False)
    link = linked(lane, pair[0], in_flight_max=1)
    link.pump(SECOND)
    assert lane.sent == [1, 2, 3, 4, 5, 6, 7]
    assert link.in_flight == []
    link.detach(0)
    assert lane.lost == []


def test_the_other_side_closes(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    lane = Lane(2)
    link = linked(lane, ours)
    link.pump(SECOND)
    read(theirs, 20)
    theirs.close()
    with pytest.raises(NoConnection, match="there:9: the other side closed the connection"):
        link.receive()
    link.detach(0)
    assert lane.lost == [1, 2]
    assert not link.is_open
    lane.left = 1
    link.pump(SECOND)
    assert (link.in_flight, link.next_due_ns(), link.must_log_in) == ([], None, False)


def test_an_error_of_the_network(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    link = linked(Lane(1), ours)
    theirs.close()
    with pytest.raises(NoConnection, match="there:9: broken pipe"):
        link.pump(SECOND)
    ours.close()
    with pytest.raises(NoConnection, match="there:9: bad file descriptor"):
        link.receive()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (answer(2, b"one"), "an answer to request 2, which is not the next one"),
        (bytes(8), "an answer of 0 bytes"),
        (b"\xff" * 8, "an answer of -1 bytes"),
        (answer(1, b"bad"), "it is bad"),
    ],
)
def test_an_answer_that_is_none(
    data: bytes, text: str, pair: tuple[socket.socket, socket.socket]
) -> None:
    ours, theirs = pair
    lane = Lane(1)
    link = linked(lane, ours)
    link.pump(SECOND)
    theirs.sendall(data)
    with pytest.raises(BadAnswer, match=text):
        link.receive()
    link.detach(0)
    assert lane.lost == [1]


def test_an_answer_without_a_request(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    link = linked(Lane(0), ours)
    theirs.sendall(answer(1, b""))
    with pytest.raises(BadAnswer, match="request 1"):
        link.receive()


def test_an_answer_that_does_not_come(pair: tuple[socket.socket, socket.socket]) -> None:
    link = linked(Lane(1), pair[0])
    link.check_age(100 * SECOND, SECOND)
    link.pump(SECOND)
    link.check_age(2 * SECOND, SECOND)
    with pytest.raises(NoAnswer, match="there:9: no answer within 1 s"):
        link.check_age(2 * SECOND + 1, SECOND)


def test_a_draining_link_sends_nothing_more(pair: tuple[socket.socket, socket.socket]) -> None:
    lane = Lane(2)
    link = linked(lane, pair[0], in_flight_max=1)
    link.pump(SECOND)
    link.is_draining = True
    pair[1].sendall(answer(1, b""))
    link.receive()
    link.pump(SECOND)
    assert (lane.left, link.in_flight) == (1, [])
    link.attach(Paired(pair[0]))
    link.pump(SECOND)
    assert lane.left == 0


def encrypted(
    pair: tuple[socket.socket, socket.socket], folder: Path
) -> tuple[ssl.SSLSocket, ssl.SSLSocket]:
    """The same pair with TLS; the first one is the client's."""
    files = write_certificates(folder)
    of_server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    of_server.load_cert_chain(files.server)
    of_client = ssl.create_default_context(cafile=str(files.ca))
    with ThreadPoolExecutor(1) as pool:
        server = pool.submit(of_server.wrap_socket, pair[1], server_side=True)
        client = of_client.wrap_socket(pair[0], server_hostname="localhost")
        return client, server.result()


def test_over_tls(pair: tuple[socket.socket, socket.socket], tmp_path: Path) -> None:
    ours, theirs = encrypted(pair, tmp_path)
    with ours, theirs:
        _exchange_encrypted(ours, theirs)


def _exchange_encrypted(ours: ssl.SSLSocket, theirs: ssl.SSLSocket) -> None:
    lane = Lane(1, size_bytes=3_000_000)
    link = linked(lane, ours)
    theirs.setblocking(False)
    link.pump(SECOND)
    assert link.wants_to_write
    received = 0
    while received < 3_000_000:
        try:
            received += len(theirs.recv(1 << 20))
        except ssl.SSLWantReadError:
            link.flush()
    body = bytes(100_000)
    left = memoryview(answer(1, body))
    while left:
        try:
            left = left[theirs.send(left) :]
        except ssl.SSLWantWriteError:
            link.receive()
    link.receive()
    assert lane.answers == [body]
