"""The answers of a connection on their way to the client: P-04, P-05.

The rest of this module is tested with whole connections, see test_client_connection.py and
test_answered_at_once.py.
"""

import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from broker_lite.protocol.framing import Request
from broker_lite.server.answers import Answers


def request_of(correlation_id: int) -> Request:
    return Request(0, 0, correlation_id, None, memoryview(b""), 0, False)


def frame_of(correlation_id: int, body: bytes) -> bytes:
    return struct.pack(">ii", 4 + len(body), correlation_id) + body


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    near, far = socket.socketpair()
    with near, far:
        near.setblocking(False)
        far.setblocking(False)
        yield near, far


def answers_on(sock: socket.socket) -> Answers:
    anything: Any = None
    return Answers(sock, anything, anything, anything)


def received(sock: socket.socket) -> bytes:
    try:
        return sock.recv(1 << 20)
    except BlockingIOError:
        return b""


def test_short_answers_leave_together_with_the_first_that_nothing_follows(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    near, far = ends
    answers = answers_on(near)
    assert answers.put(request_of(1), [b"one"], more=True) is None
    assert answers.put(request_of(2), [b"two"], more=True) is None
    assert received(far) == b""
    assert answers.put(request_of(3), [b"three"], more=False) is None
    assert received(far) == frame_of(1, b"one") + frame_of(2, b"two") + frame_of(3, b"three")
    assert answers.held == b""


def test_an_answer_above_1_kib_is_not_kept_back(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    near, far = ends
    assert answers_on(near).put(request_of(1), [bytes(1024)], more=True) is None
    assert received(far) == frame_of(1, bytes(1024))


def test_what_was_kept_back_leaves_at_the_end(ends: tuple[socket.socket, socket.socket]) -> None:
    near, far = ends
    answers = answers_on(near)
    answers.send_held_at_end()
    answers.put(request_of(1), [b"one"], more=True)
    answers.send_held_at_end()
    assert received(far) == frame_of(1, b"one")


def test_a_client_that_has_gone_is_no_error_at_the_end(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    near, far = ends
    answers = answers_on(near)
    answers.put(request_of(1), [b"one"], more=True)
    far.close()
    answers.send_held_at_end()


def test_what_the_client_does_not_read_is_left(ends: tuple[socket.socket, socket.socket]) -> None:
    near, far = ends
    rest = answers_on(near).put(request_of(1), [bytes(8 << 20)], more=False)
    assert rest is not None
    whole = b""
    while not rest.advance(near):
        whole += received(far)
    while piece := received(far):
        whole += piece
    assert whole == frame_of(1, bytes(8 << 20))
