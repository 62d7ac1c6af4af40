"""Several threads and one socket: each gets the lines that are for it."""

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from broker_lite.testing.processes.channel import Answer, Channel, Ended, NoAnswer
from broker_lite.testing.processes.forks import ControlRefused

TIMEOUT_S = 30.0


class Peer:
    """The broker's end of the socket."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._file = sock.makefile("r")

    def close(self) -> None:
        self._file.close()
        self.sock.close()

    def read(self) -> str:
        return self._file.readline().rstrip("\n")

    def asked(self) -> dict[str, Any]:
        request: dict[str, Any] = json.loads(self.read())
        return request

    def tell(self, *lines: str) -> None:
        self.sock.sendall("".join(f"{line}\n" for line in lines).encode())

    def answer(self, number: int, body: object) -> None:
        self.tell(json.dumps({"id": number, "status": 200, "body": body}))


@pytest.fixture
def peer(ends: tuple[Channel, Peer]) -> Peer:
    return ends[1]


@pytest.fixture
def channel(ends: tuple[Channel, Peer]) -> Channel:
    return ends[0]


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Peer]]:
    ours, theirs = socket.socketpair()
    peer = Peer(theirs)
    yield Channel(ours), peer
    peer.close()
    ours.close()


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(20) as pool:
        yield pool


def get(channel: Channel, path: str, timeout_s: float = TIMEOUT_S) -> Answer:
    return channel.ask({"method": "GET", "path": path}, timeout_s)


def test_a_wait_does_not_keep_another_thread_from_asking(
    channel: Channel, peer: Peer, threads: ThreadPoolExecutor
) -> None:
    waits = threads.submit(get, channel, "/wait")
    wait_id = peer.asked()["id"]
    releases = threads.submit(get, channel, "/release")
    peer.answer(peer.asked()["id"], "released")
    assert releases.result(TIMEOUT_S) == Answer(200, "released")
    assert not waits.done()
    peer.answer(wait_id, "waited")
    assert waits.result(TIMEOUT_S) == Answer(200, "waited")


def test_answers_in_any_order_and_in_pieces(
    channel: Channel, peer: Peer, threads: ThreadPoolExecutor
) -> None:
    asked = [threads.submit(get, channel, f"/{number}") for number in range(20)]
    requests = [peer.asked() for _ in asked]
    lines = [
        json.dumps({"id": request["id"], "status": 200, "body": request["path"]})
        for request in reversed(requests)
    ]
    for byte in "".join(f"{line}\n" for line in lines).encode():
        peer.sock.sendall(bytes([byte]))
    assert [each.result(TIMEOUT_S).body for each in asked] == [f"/{n}" for n in range(20)]


def test_octets_are_bytes(channel: Channel, peer: Peer, threads: ThreadPoolExecutor) -> None:
    asks = threads.submit(get, channel, "/octets")
    peer.tell(json.dumps({"id": peer.asked()["id"], "status": 200, "base64": "/wA="}))
    assert asks.result(TIMEOUT_S) == Answer(200, b"\xff\x00")


@pytest.mark.parametrize("wrong", [{"status": 200}, {"body": 1}, {"status": 200, "base64": "%"}])
def test_only_who_asked_is_told_of_a_wrong_answer(
    channel: Channel, peer: Peer, threads: ThreadPoolExecutor, wrong: dict[str, object]
) -> None:
    waits = threads.submit(get, channel, "/wait")  # this thread reads for the other one
    wait_id = peer.asked()["id"]
    asks = threads.submit(get, channel, "/wrong")
    wrong_line = json.dumps({"id": peer.asked()["id"], **wrong})
    right_line = json.dumps({"id": wait_id, "status": 200, "body": "waited"})
    peer.tell(wrong_line, "ready a:1", right_line)
    with pytest.raises(NoAnswer, match="it is no answer of the control API"):
        asks.result(TIMEOUT_S)
    assert waits.result(TIMEOUT_S) == Answer(200, "waited")
    channel.wait_for("ready", 1, TIMEOUT_S)


@pytest.mark.parametrize("line", [b"{", b"\xff", b'{"status": 200}', b'{"id":' + b"[" * 100_000])
def test_a_line_that_cannot_be_read_loses_no_other(
    channel: Channel, peer: Peer, threads: ThreadPoolExecutor, line: bytes
) -> None:
    asks = threads.submit(get, channel, "/")
    answer = json.dumps({"id": peer.asked()["id"], "status": 200, "body": 1})
    peer.sock.sendall(line + b"\n" + answer.encode() + b"\n")
    assert asks.result(TIMEOUT_S) == Answer(200, 1)


def test_lines_of_life_come_between_answers(
    channel: Channel, peer: Peer, threads: ThreadPoolExecutor
) -> None:
    asks = threads.submit(get, channel, "/wait")
    wait_id = peer.asked()["id"]
    peer.tell("ready localhost:1")
    channel.wait_for("ready", 1, TIMEOUT_S)
    number = channel.order(b"reset", "ready")
    assert peer.read() == "reset"
    steps = channel.order(b"step 7", "stepped")
    peer.tell("ready localhost:2", "stepped")
    channel.wait_for("stepped", steps, TIMEOUT_S)
    channel.wait_for("ready", number, TIMEOUT_S)
    assert channel.address == "localhost:2"
    peer.answer(wait_id, None)
    assert asks.result(TIMEOUT_S).body is None


def test_a_reset_that_the_control_api_was_asked_for_is_none_of_ours(
    channel: Channel, peer: Peer
) -> None:
    peer.tell("ready a:1", "ready a:1", "ready a:1")
    channel.wait_for("ready", 1, TIMEOUT_S)
    number = channel.order(b"reset", "ready")
    with pytest.raises(TimeoutError):
        channel.wait_for("ready", number, 0.05)
    peer.tell("ready a:2")
    channel.wait_for("ready", number, TIMEOUT_S)
    assert channel.address == "a:2"


def test_an_answer_that_comes_too_late_is_dropped(channel: Channel, peer: Peer) -> None:
    begin_s = time.monotonic()
    with pytest.raises(TimeoutError):
        get(channel, "/slow", timeout_s=0.05)
    assert time.monotonic() - begin_s < TIMEOUT_S
    peer.answer(peer.asked()["id"], "late")
    with pytest.raises(TimeoutError):
        get(channel, "/other", timeout_s=0.05)
    number = peer.asked()["id"]
    peer.answer(number, "too late, too")
    peer.tell("ready a:1")
    channel.wait_for("ready", 1, TIMEOUT_S)


@pytest.mark.parametrize("closed_here", [False, True])
def test_the_end_reaches_all_threads(
    channel: Channel, peer: Peer, threads: ThreadPoolExecutor, closed_here: bool
) -> None:
    asked = [threads.submit(get, channel, "/wait") for _ in range(5)]
    for _ in asked:
        peer.asked()
    if closed_here:
        channel.close()
    else:
        peer.sock.shutdown(socket.SHUT_RDWR)
    for each in asked:
        with pytest.raises(Ended):
            each.result(TIMEOUT_S)
    assert channel.is_hung_up
    with pytest.raises(Ended):
        get(channel, "/more")
    with pytest.raises(Ended):
        channel.order(b"reset", "ready")
    channel.close()
    channel.close()
    assert channel.is_closed


def test_a_socket_that_the_launcher_closed() -> None:
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    with theirs:
        theirs.sendall(b"ready a:1\n")
        channel.wait_for("ready", 1, TIMEOUT_S)
        ours.close()
        assert channel.is_hung_up
        with pytest.raises(Ended):
            channel.wait_for("ready", 2, TIMEOUT_S)
        with pytest.raises(Ended):
            get(channel, "/more")


def test_a_failure_ends_a_wait_for_a_start(channel: Channel, peer: Peer) -> None:
    peer.tell("failed the disk is full")
    channel.wait_for("ready", 1, TIMEOUT_S)
    assert channel.failure == "the disk is full"


def test_a_refusal_names_the_place() -> None:
    refused = ControlRefused(400, {"error": "there is no error 'X'", "at": "rules[0].error"})
    assert str(refused) == "rules[0].error: there is no error 'X'"
    assert ControlRefused(503, "starting").args == ("starting",)
    late = ControlRefused(408, {"error": "too late", "found": {"members": 1}})
    assert (late.status, late.found) == (408, {"members": 1})
    assert str(late) == 'too late; there is {"members": 1}'
