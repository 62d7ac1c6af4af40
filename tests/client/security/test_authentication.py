"""Clients that log in, at a running broker and at servers that lie.

Also tests: broker_lite.client.security.secured.
"""

import socket
import struct
import time
from collections.abc import Callable
from typing import Any

import pytest

from broker_lite.client import BadAnswer, Client, LoginRefused, NoConnection
from broker_lite.client.security.authentication import Login
from broker_lite.security.login.plain import PlainLogin
from broker_lite.wire import messages
from tests.support.scripted_server import ScriptedServer, answer, read_request, speak
from tests.support.secured_broker import MECHANISMS, SESSION_MS, SecuredBroker, sasl


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_x05_x06_x10_a_client_logs_in(broker: SecuredBroker, mechanism: str) -> None:
    with Client(broker.addresses["SASL"], properties=sasl(mechanism)) as client:
        assert client.leaders("login", create=True)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_x01_a_client_logs_in_over_tls(broker: SecuredBroker, mechanism: str) -> None:
    with Client(broker.addresses["BOTH"], properties=broker.sasl_ssl(mechanism)) as client:
        assert client.leaders("login", create=True)


def test_tls_alone_where_both_are_wanted(broker: SecuredBroker) -> None:
    with (
        Client(broker.addresses["BOTH"], properties=broker.tls()) as client,
        pytest.raises(NoConnection, match=r"; perhaps its listener has SASL: see security\.prot"),
    ):
        client.metadata([])


def test_sasl_alone_where_both_are_wanted(broker: SecuredBroker) -> None:
    with pytest.raises(NoConnection, match=r"; perhaps its listener has TLS: see security\.prot"):
        Client(broker.addresses["BOTH"], properties=sasl("PLAIN"))


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_x11_a_wrong_password(broker: SecuredBroker, mechanism: str) -> None:
    with pytest.raises(LoginRefused) as caught:
        Client(broker.addresses["SASL"], properties=sasl(mechanism, "hunter2"))
    text = str(caught.value)
    assert text.startswith(f"{broker.addresses['SASL']}: Authentication failed")
    assert "hunter2" not in text


def test_a_wrong_password_is_sent_once(broker: SecuredBroker) -> None:
    address = broker.addresses["SASL"]
    with pytest.raises(LoginRefused, match=r"^\S+ Authentication failed: \D+$"):
        Client(f"{address},{address}", properties=sasl("PLAIN", "wrong"))


def test_x06_a_mechanism_that_the_broker_does_not_have() -> None:
    offer = messages.SaslHandshakeResponse(error_code=33, mechanisms=["GSSAPI", "PLAIN"])
    with (
        ScriptedServer(_handshake(offer)) as server,
        pytest.raises(LoginRefused, match=r"SCRAM-SHA-256 is not enabled, only GSSAPI, PLAIN$"),
    ):
        Client(server.bootstrap, properties=sasl("SCRAM-SHA-256"))


def test_x02_a_listener_without_sasl(broker: SecuredBroker) -> None:
    with pytest.raises(LoginRefused, match=r"the listener has no SASL: see security\.protocol"):
        Client(broker.addresses["PLAINTEXT"], properties=sasl("PLAIN"))


def test_a_listener_with_sasl_and_a_plain_client(broker: SecuredBroker) -> None:
    with (
        Client(broker.addresses["SASL"]) as client,
        pytest.raises(NoConnection, match="perhaps its listener has TLS or SASL"),
    ):
        client.metadata([])


@pytest.mark.parametrize("listener", ["SASL", "BOTH"])
def test_x31_x33_x34_the_session_is_renewed(broker: SecuredBroker, listener: str) -> None:
    end_s = time.monotonic() + 3 * SESSION_MS / 1000
    properties = sasl("PLAIN") if listener == "SASL" else broker.sasl_ssl("PLAIN")
    with Client(broker.addresses[listener], properties=properties) as client:
        first = client.connection()
        while time.monotonic() < end_s:
            client.metadata([])
            time.sleep(SESSION_MS / 5000)
        time.sleep(SESSION_MS / 1000 * 1.2)  # now it has ended
        client.metadata([])
        assert client.connection() is first


def test_x09_a_broker_of_kafka_0_11() -> None:
    received = []

    def raw(client: socket.socket) -> None:
        speak(client, SaslHandshake=(0, 0), Metadata=(1, 4))
        _tell(client, messages.SaslHandshakeResponse(mechanisms=["PLAIN"]))
        (size,) = struct.unpack(">i", client.recv(4))
        received.append(client.recv(size))
        client.sendall(bytes(4))
        read_request(client)

    with (
        ScriptedServer(raw) as server,
        Client(server.bootstrap, properties=sasl("PLAIN")) as client,
        pytest.raises(NoConnection),
    ):
        client.metadata([])
    assert received == [b"\0alice\0alice-secret"]


def test_a_broker_that_goes_on_and_on() -> None:
    def tell_for_ever(client: socket.socket) -> None:
        _handshake(messages.SaslHandshakeResponse(mechanisms=["OAUTHBEARER"]))(client)
        while True:
            _tell(client, messages.SaslAuthenticateResponse(auth_bytes=b"{}"))

    with ScriptedServer(tell_for_ever) as server, pytest.raises(LoginRefused) as caught:
        Client(server.bootstrap, properties=sasl("OAUTHBEARER"))
    assert str(caught.value) == (
        f"{server.bootstrap}: OAUTHBEARER: the broker refuses the token, and does not say so"
    )


def test_x22_a_broker_that_does_not_know_the_password() -> None:
    def lie(client: socket.socket) -> None:
        _handshake(messages.SaslHandshakeResponse(mechanisms=["SCRAM-SHA-256"]))(client)
        _tell(client, messages.SaslAuthenticateResponse(auth_bytes=b"r=me,s=AAAA,i=4096"))

    with ScriptedServer(lie) as server, pytest.raises(LoginRefused, match="the broker's nonce"):
        Client(server.bootstrap, properties=sasl("SCRAM-SHA-256"))


def test_an_answer_that_is_none() -> None:
    def babble(client: socket.socket) -> None:
        _handshake(messages.SaslHandshakeResponse(mechanisms=["PLAIN"]))(client)
        _, _, correlation_id = read_request(client)
        answer(client, correlation_id, b"\xff")

    with ScriptedServer(babble) as server, pytest.raises(BadAnswer):
        Client(server.bootstrap, properties=sasl("PLAIN"))


def test_no_secret_is_shown() -> None:
    login = Login("PLAIN", lambda: PlainLogin("alice", "hunter2"))
    assert repr(login) == "Login(PLAIN)"


def _handshake(offer: messages.SaslHandshakeResponse) -> Callable[[socket.socket], None]:
    """Answer ApiVersions and SaslHandshake."""

    def script(client: socket.socket) -> None:
        speak(client, SaslHandshake=(0, 1), SaslAuthenticate=(0, 1))
        _tell(client, offer)

    return script


def _tell(client: socket.socket, value: Any) -> None:
    _, version, correlation_id = read_request(client)
    kind = messages.message(type(value).__name__)
    answer(client, correlation_id, kind.encode(value, version))
