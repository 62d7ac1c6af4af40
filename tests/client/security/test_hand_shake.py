"""TLS of clients, at a running broker; what they are told if it fails."""

import socket
import ssl
from pathlib import Path

import pytest
import trustme

from broker_lite.client import Address, Client, NoAnswer, NoConnection, NotTrusted
from broker_lite.client.security.hand_shake import Tls
from tests.support.scripted_server import ScriptedServer, wait_for_end
from tests.support.secured_broker import SecuredBroker


@pytest.mark.parametrize("versions", ["TLSv1.2", "TLSv1.3", "TLSv1.2,TLSv1.3"])
def test_a_client_of_tls(broker: SecuredBroker, versions: str) -> None:
    properties = broker.tls(ssl_enabled_protocols=versions)
    with Client(broker.addresses["TLS"], properties=properties) as client:
        assert client.leaders("tls", create=True)


def test_a_client_with_a_certificate(broker: SecuredBroker) -> None:
    with Client(broker.addresses["MTLS"], properties=broker.mtls()) as client:
        assert client.leaders("mtls", create=True)


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_a_client_without_a_certificate(broker: SecuredBroker, version: str) -> None:
    properties = broker.tls(ssl_enabled_protocols=version)
    # the reason is lost if the broker closes before it has read the client's first request
    with pytest.raises((NotTrusted, NoConnection), match=r"set ssl\.keystore\.location$"):
        Client(broker.addresses["MTLS"], properties=properties)


def test_a_certificate_that_the_broker_does_not_trust(
    broker: SecuredBroker, tmp_path: Path
) -> None:
    other = trustme.CA().issue_cert("alice@example.org")
    other.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "other.pem"))
    properties = broker.mtls(ssl_keystore_location=str(tmp_path / "other.pem"))
    with pytest.raises((NotTrusted, NoConnection), match="certificate"):
        Client(broker.addresses["MTLS"], properties=properties)


def test_a_broker_that_the_client_does_not_trust(broker: SecuredBroker, tmp_path: Path) -> None:
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "other.pem"))
    properties = broker.tls(ssl_truststore_location=str(tmp_path / "other.pem"))
    with pytest.raises(NotTrusted) as caught:
        Client(broker.addresses["TLS"], properties=properties)
    text = str(caught.value)
    assert text.startswith(f"{broker.addresses['TLS']}: its certificate is not trusted: ")
    assert text.endswith(": ssl.truststore.location has to have its CA")


def test_a_certificate_for_another_name(broker: SecuredBroker) -> None:
    alias = broker.addresses["TLS"].replace("127.0.0.1", "127.1")
    with pytest.raises(NotTrusted, match=r"is not valid for .*: an empty ssl\.endpoint\."):
        Client(alias, properties=broker.tls())
    properties = broker.tls(ssl_endpoint_identification_algorithm="")
    with Client(alias, properties=properties) as client:
        client.metadata([])


def test_a_name_that_no_certificate_has() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as sock,
        pytest.raises(NotTrusted, match=r"^\.a:9092: no certificate can be for this host's name$"),
    ):
        Tls(context, has_certificate=False).protect(sock, Address(".a", 9092))


def test_a_listener_without_tls(broker: SecuredBroker) -> None:
    with pytest.raises(NoConnection, match=r"perhaps its listener has no TLS: see security\.prot"):
        Client(broker.addresses["PLAINTEXT"], properties=broker.tls())


def test_a_plain_client_at_a_listener_with_tls(broker: SecuredBroker) -> None:
    with pytest.raises(NoConnection, match=r"perhaps its listener has TLS or SASL: see security"):
        Client(broker.addresses["TLS"])


def test_bytes_that_are_no_tls(broker: SecuredBroker) -> None:
    def greet(client: socket.socket) -> None:
        client.sendall(b"220 mail.example ESMTP\r\n")
        wait_for_end(client)

    with (
        ScriptedServer(greet) as server,
        pytest.raises(NotTrusted, match="the listener does not speak TLS"),
    ):
        Client(server.bootstrap, properties=broker.tls())


def test_a_silent_server(broker: SecuredBroker) -> None:
    with (
        ScriptedServer(wait_for_end) as server,
        pytest.raises(NoAnswer, match="no answer to the TLS hand-shake in time"),
    ):
        Client(server.bootstrap, properties=broker.tls(), timeout_s=0.2)


def test_a_server_that_hangs_up(broker: SecuredBroker) -> None:
    def hang_up(client: socket.socket) -> None:
        client.recv(1)

    with ScriptedServer(hang_up) as server, pytest.raises(NoConnection):
        Client(server.bootstrap, properties=broker.tls())
