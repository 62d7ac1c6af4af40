"""The answers of a connection on their way to the client: P-04, P-05.

The rest of this module is tested with whole connections, see test_client_connection.py and
test_answered_at_once.py.
"""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Iterator

import pytest

from broker_lite.protocol.framing import Request, RequestFraming
from broker_lite.rate_limited_log import RateLimitedLog
from broker_lite.server.answers import Answers
from broker_lite.server.departures import Departures
from broker_lite.server.limits.unsent import NO_LIMIT, UnsentAnswers
from broker_lite.server.resets import Resets
from broker_lite.server.stream import Stream


def request_of(correlation_id: int) -> Request:
    return Request(0, 0, correlation_id, None, memoryview(b""), 0, False)


def frame_of(correlation_id: int, body: bytes) -> bytes:
    return struct.pack(">ii", 4 + len(body), correlation_id) + body


class Owner:
    """A connection as far as its answers know it."""

    client_ip = "127.0.0.1"

    def drop(self) -> None:
        raise AssertionError("nothing waits for so long")


class Ends:
    """The answers of a connection, and the two ends of its socket."""

    def __init__(self, near: socket.socket, far: socket.socket, answers: Answers) -> None:
        self.near = near
        self.far = far
        self.answers = answers


@pytest.fixture
def ends() -> Iterator[Ends]:
    loop = asyncio.new_event_loop()
    near, far = socket.socketpair()
    near.setblocking(False)
    far.setblocking(False)
    framing = RequestFraming(1 << 20, {})
    with contextlib.closing(loop), far, Resets(loop) as resets:
        departures = Departures(loop)
        stream = Stream(
            near, framing, loop, lambda: None, resets, departures, lambda request: (request, None)
        )
        unsent = UnsentAnswers(NO_LIMIT, RateLimitedLog(lambda: 0))
        yield Ends(near, far, Answers(near, stream, unsent, Owner()))
        stream.close()


def received(sock: socket.socket) -> bytes:
    try:
        return sock.recv(1 << 20)
    except BlockingIOError:
        return b""


def test_short_answers_leave_together_with_the_first_that_nothing_follows(ends: Ends) -> None:
    answers, far = ends.answers, ends.far
    assert answers.put(request_of(1), [b"one"], more=True) is None
    assert answers.put(request_of(2), [b"two"], more=True) is None
    assert received(far) == b""
    assert answers.put(request_of(3), [b"three"], more=False) is None
    assert received(far) == frame_of(1, b"one") + frame_of(2, b"two") + frame_of(3, b"three")
    assert answers.held == b""


def test_an_answer_above_1_kib_is_not_kept_back(ends: Ends) -> None:
    answers, far = ends.answers, ends.far
    assert answers.put(request_of(1), [bytes(1024)], more=True) is None
    assert received(far) == frame_of(1, bytes(1024))


def test_what_was_kept_back_leaves_at_the_end(ends: Ends) -> None:
    answers, far = ends.answers, ends.far
    answers.end()
    answers.put(request_of(1), [b"one"], more=True)
    answers.end()
    assert received(far) == frame_of(1, b"one")


def test_a_client_that_has_gone_is_no_error_at_the_end(ends: Ends) -> None:
    answers, far = ends.answers, ends.far
    answers.put(request_of(1), [b"one"], more=True)
    far.close()
    answers.end()


def test_what_the_client_does_not_read_is_left(ends: Ends) -> None:
    answers, far = ends.answers, ends.far
    rest = answers.put(request_of(1), [bytes(8 << 20)], more=False)
    assert rest is not None
    whole = b""
    while not rest.advance(ends.near):
        whole += received(far)
    while piece := received(far):
        whole += piece
    assert whole == frame_of(1, bytes(8 << 20))
