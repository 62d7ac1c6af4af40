"""Tokens from files and from an OAuth server, at a small one of its own."""

import base64
import json
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from broker_lite.client.errors import LoginRefused
from broker_lite.client.security.logins import login_of
from broker_lite.client.security.token_endpoint import token_endpoint_of
from broker_lite.errors import SettingsError
from tests.support.certificates import write_certificates
from tests.support.reference_kafka import free_port

URL = "sasl.oauthbearer.token.endpoint.url"
USER = {"clientId": "me", "clientSecret": "hunter2", "scope": "kafka"}


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def token(lifetime_s: float) -> str:
    return f"{encoded({'alg': 'none'})}.{encoded({'exp': time.time() + lifetime_s})}."


class OAuthServer(HTTPServer):
    """Answers what a test says, and remembers what it was asked."""

    asked: list[tuple[str, str, str]]
    status = 200
    body: Any = b""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/token?a=b"


class Handler(BaseHTTPRequestHandler):
    server: OAuthServer

    def do_POST(self) -> None:
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.asked.append((self.path, self.headers["Authorization"], form))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[OAuthServer]:
    with OAuthServer(("127.0.0.1", 0), Handler) as running:
        running.asked = []
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_client_credentials(server: OAuthServer) -> None:
    first, second = token(3600), token(3601)
    server.body = json.dumps({"access_token": first}).encode()
    login = login_of(
        {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": 'M required clientId=me clientSecret=s scope="a b" extension_x=y;',
            URL: server.url,
        }
    )
    assert login.begin().first() == f"n,,\x01auth=Bearer {first}\x01x=y\x01\x01".encode()
    server.body = json.dumps({"access_token": second}).encode()
    assert first.encode() in login.begin().first()  # the first token is fresh
    authorization = "Basic " + base64.b64encode(b"me:s").decode()
    form = "grant_type=client_credentials&scope=a+b"
    assert server.asked == [("/token?a=b", authorization, form)]


@pytest.mark.parametrize("lifetime_s", [0, None])
def test_a_token_that_is_not_fresh(server: OAuthServer, lifetime_s: float | None) -> None:
    text = "opaque" if lifetime_s is None else token(lifetime_s)
    server.body = json.dumps({"access_token": text}).encode()
    endpoint = token_endpoint_of({URL: server.url}, USER)
    assert endpoint.token() == endpoint.token() == text
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (401, b"hunter2", "it answers with 401 Unauthorized"),
        (200, b"", "its answer has no access_token"),
        (200, b"[]", "its answer has no access_token"),
        (200, b'{"access_token": 5}', "its answer has no access_token"),
        (200, b"[" * 100_000, "its answer has no access_token"),
    ],
)
def test_an_answer_without_a_token(
    server: OAuthServer, status: int, body: bytes, reason: str
) -> None:
    server.status, server.body = status, body
    with pytest.raises(LoginRefused) as caught:
        token_endpoint_of({URL: server.url}, USER).token()
    assert str(caught.value) == f"{URL}=http://127.0.0.1:{server.server_port}: {reason}"


def test_nobody_there() -> None:
    url = f"http://user:hunter2@127.0.0.1:{free_port()}/"
    with pytest.raises(LoginRefused, match="connection refused") as caught:
        token_endpoint_of({URL: url}, USER).token()
    assert "hunter2" not in str(caught.value)


def test_a_name_that_cannot_be_resolved() -> None:
    with pytest.raises(LoginRefused, match=r"n\.invalid: the host's name cannot be resolved$"):
        token_endpoint_of({URL: f"http://{'n' * 64}.invalid/"}, USER).token()


def test_https(server: OAuthServer, tmp_path: Path) -> None:
    files = write_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.server)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.body = b'{"access_token": "abc"}'
    url = {URL: f"https://localhost:{server.server_port}/"}
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(files.ca)}
    assert token_endpoint_of(url, {**USER, **trust}).token() == "abc"


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "my token"
    endpoint = token_endpoint_of({URL: path.as_uri()}, {})
    with pytest.raises(LoginRefused, match="my token: No such file"):
        endpoint.token()
    path.write_text("abc\n")
    assert endpoint.token() == "abc"


@pytest.mark.parametrize(
    "url", ["ftp://a/", "http://", "https://a:x/", "http://[/", "token", "http://a/é"]
)
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(SettingsError, match="it is no URL of file, http or https"):
        token_endpoint_of({URL: url}, USER)


def test_credentials_are_missing() -> None:
    with pytest.raises(SettingsError, match=r"or clientId and clientSecret$"):
        token_endpoint_of({URL: "http://127.0.0.1/"}, {"clientId": "me"})
