"""One connection, to a broker and to servers that are none."""

import contextlib
import select
import socket
import struct
from collections.abc import Callable
from functools import partial

import pytest

from broker_lite.client import (
    Address,
    BadAnswer,
    Connection,
    NoAnswer,
    NoConnection,
    NotSupported,
    broker_connection,
)
from broker_lite.client.broker_connection import ANSWER_BYTES_MAX, FIRST_ANSWER_BYTES_MAX
from broker_lite.client.errors import UnknownHost
from broker_lite.wire import messages
from tests.support.scripted_server import (
    Script,
    ScriptedServer,
    answer,
    read_request,
    speak,
    wait_for_end,
)


def connect(bootstrap: str, **options: float) -> Connection:
    return Connection(Address.parse(bootstrap), **options)


def ask_for_nothing() -> object:
    return messages.MetadataRequest(topics=[])


def test_a_request_and_its_answer(bootstrap: str) -> None:
    with connect(bootstrap) as connection:
        answered = connection.request(ask_for_nothing())
        assert [broker.node_id for broker in answered.brokers] == [1]
        assert not connection.closed
    assert connection.closed
    connection.close()


def test_several_requests_under_way(bootstrap: str, topic: str) -> None:
    with connect(bootstrap) as connection:
        for name in (f"{topic}-1", f"{topic}-2", f"{topic}-3"):
            wanted = messages.MetadataRequest.MetadataRequestTopic(name=name)
            connection.send(messages.MetadataRequest(topics=[wanted]))
        assert select.select([connection], [], [], 10)[0] == [connection]
        names = [connection.receive(messages.MetadataResponse).topics[0].name for _ in range(3)]
        assert names == [f"{topic}-1", f"{topic}-2", f"{topic}-3"]
        assert connection.request(ask_for_nothing()).brokers  # refuses if one were in flight


def test_a_request_without_an_answer(bootstrap: str) -> None:
    with connect(bootstrap) as connection:
        connection.send(messages.ProduceRequest(acks=0, timeout_ms=1000), answered=False)
        assert connection.request(ask_for_nothing()).brokers


def test_an_end_while_nothing_is_asked(bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_connection, "IDLE_S", 0)
    with connect(bootstrap) as connection:
        assert not connection.has_ended()
        connection.send(ask_for_nothing())
        assert connection.has_arrived(10)
        assert not connection.has_ended()  # that is the answer
        assert connection.receive(messages.MetadataResponse).brokers
        connection.raw_socket.shutdown(socket.SHUT_RD)
        assert connection.has_ended()
        assert connection.closed
        assert connection.has_ended()


def test_the_highest_version_that_both_know(bootstrap: str) -> None:
    with connect(bootstrap) as connection:
        known = connection.versions[messages.MetadataRequest.api_key or 0]
        assert connection.send(ask_for_nothing()) == known.last
        assert connection.send(ask_for_nothing(), version_max=5) == 5
        assert [len(connection.receive(messages.MetadataResponse).brokers) for _ in range(2)] == [
            1,
            1,
        ]


@pytest.mark.parametrize(
    ("offered", "message"),
    [
        ({}, "the broker does not have the API Metadata"),
        ({"Metadata": (90, 99)}, "the broker has Metadata in versions 90 to 99, which are not"),
    ],
)
def test_no_version_in_common(offered: dict[str, tuple[int, int]], message: str) -> None:
    with (
        ScriptedServer(partial(speak, **offered)) as server,
        connect(server.bootstrap) as connection,
        pytest.raises(NotSupported, match=message),
    ):
        connection.request(ask_for_nothing())


def test_a_value_that_the_version_cannot_carry(bootstrap: str) -> None:
    with (
        connect(bootstrap) as connection,
        pytest.raises(NotSupported, match="ListGroupsRequest v3: StatesFilter cannot be"),
    ):
        connection.request(messages.ListGroupsRequest(states_filter=["Empty"]), version_max=3)


def refuse_the_version(client: socket.socket) -> None:
    _, version, correlation_id = read_request(client)
    assert version == 3
    answer(client, correlation_id, struct.pack(">hi", 35, 0))
    _, version, correlation_id = read_request(client)
    assert version == 0
    value = messages.ApiVersionsResponse(
        api_keys=[messages.ApiVersionsResponse.ApiVersion(api_key=3, min_version=0, max_version=1)]
    )
    answer(client, correlation_id, messages.ApiVersionsResponse.encode(value, 0))


def test_a_broker_that_is_too_old_for_the_first_question() -> None:
    with ScriptedServer(refuse_the_version) as server, connect(server.bootstrap) as connection:
        assert connection.versions == {3: (0, 1)}


def dribble(client: socket.socket) -> None:
    _, _, correlation_id = read_request(client)
    body = messages.ApiVersionsResponse.encode(messages.ApiVersionsResponse(), 3)
    for byte in struct.pack(">ii", 4 + len(body), correlation_id) + body:
        client.sendall(bytes([byte]))


def test_an_answer_byte_by_byte() -> None:
    with ScriptedServer(dribble) as server, connect(server.bootstrap) as connection:
        assert connection.versions == {}


def send(data: bytes) -> Script:
    def script(client: socket.socket) -> None:
        read_request(client)
        client.sendall(data)
        wait_for_end(client)

    return script


def speak_of_an_error(client: socket.socket) -> None:
    _, version, correlation_id = read_request(client)
    value = messages.ApiVersionsResponse(error_code=42)
    answer(client, correlation_id, messages.ApiVersionsResponse.encode(value, version))


NOT_KAFKA: dict[str, tuple[Script, str]] = {
    "a web server": (send(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "an answer of 1213486160 bytes"),
    "a huge frame": (send(struct.pack(">i", FIRST_ANSWER_BYTES_MAX + 1)), "an answer of 1048577"),
    "a negative frame": (send(struct.pack(">i", -1)), "an answer of -1 bytes"),
    "a frame too short": (send(struct.pack(">ih", 2, 0)), "an answer of 2 bytes"),
    "another request's": (send(struct.pack(">ii", 4, 77)), "an answer to request 77 instead of 1"),
    "no message": (send(struct.pack(">iih", 6, 1, 0)), "ApiVersionsResponse v3 ends too early"),
}


@pytest.mark.parametrize("case", NOT_KAFKA)
def test_a_server_that_is_no_kafka(case: str) -> None:
    script, message = NOT_KAFKA[case]
    with (
        ScriptedServer(script) as server,
        pytest.raises(BadAnswer, match=f"not a Kafka broker's answer: {message}"),
    ):
        connect(server.bootstrap)


def test_a_broker_that_refuses_the_first_question() -> None:
    with (
        ScriptedServer(speak_of_an_error) as server,
        pytest.raises(Exception, match="ApiVersions: INVALID_REQUEST"),
    ):
        connect(server.bootstrap)


def hang_up_before_a_word(_client: socket.socket) -> None:
    """Do nothing: the end of the script closes the connection."""


def hang_up_in_the_middle(client: socket.socket) -> None:
    read_request(client)
    client.sendall(struct.pack(">ih", 100, 0))


@pytest.mark.parametrize("script", [hang_up_before_a_word, hang_up_in_the_middle])
def test_a_server_that_hangs_up(script: Script) -> None:
    with (
        ScriptedServer(script) as server,
        pytest.raises(NoConnection, match=r"closed the connection|connection reset|broken pipe"),
    ):
        connect(server.bootstrap)


def test_a_server_that_is_silent() -> None:
    with (
        ScriptedServer(wait_for_end) as server,
        pytest.raises(NoAnswer, match=r"no answer within 0\.2 s"),
    ):
        connect(server.bootstrap, timeout_s=0.2)


def then(script: Callable[[socket.socket], None]) -> Script:
    """A server that knows Metadata 0 to 9, and does something else after the first answer."""

    def both(client: socket.socket) -> None:
        speak(client, Metadata=(0, 9))
        script(client)

    return both


def tag_the_header(client: socket.socket) -> None:
    _, _, correlation_id = read_request(client)
    answer(client, correlation_id, b"\x01\x00\x00")


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (tag_the_header, BadAnswer),
        (send(struct.pack(">i", ANSWER_BYTES_MAX + 1)), BadAnswer),
        (hang_up_in_the_middle, NoConnection),
        (wait_for_end, NoAnswer),
    ],
)
def test_after_an_error_it_is_closed(script: Script, kind: type[Exception]) -> None:
    with ScriptedServer(then(script)) as server, connect(server.bootstrap) as connection:
        with pytest.raises(kind):
            connection.request(ask_for_nothing(), timeout_s=0.2)
        assert connection.closed
        with pytest.raises(NoConnection):
            connection.request(ask_for_nothing())


def test_a_server_that_does_not_read() -> None:
    def stop_reading(client: socket.socket) -> None:
        client.recv(1)
        release.recv(1)

    release, releaser = socket.socketpair()
    with (
        release,
        ScriptedServer(then(stop_reading)) as server,
        connect(server.bootstrap, timeout_s=0.2) as connection,
    ):
        wanted = messages.MetadataRequest.MetadataRequestTopic(name="n" * 30_000)
        with pytest.raises(NoAnswer):
            connection.send(messages.MetadataRequest(topics=[wanted] * 1000))
        releaser.close()


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(NoConnection, match=f"127.0.0.1:{port}: connection refused"):
        connect(f"127.0.0.1:{port}")


@pytest.mark.parametrize("host", ["n" * 64 + ".invalid", "ü" * 70, "nul\0.invalid"])
def test_a_name_that_cannot_be_resolved(host: str) -> None:
    with pytest.raises(UnknownHost, match="the host's name cannot be resolved"):
        Connection(Address(host, 9092))


def test_a_server_that_takes_no_connection() -> None:
    with socket.socket() as listener, contextlib.ExitStack() as waiting:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):  # as many as fill the queue of those that are not accepted
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        with pytest.raises(NoAnswer, match=r"no connection within 0\.2 s"):
            connect(f"127.0.0.1:{listener.getsockname()[1]}", timeout_s=0.2)
