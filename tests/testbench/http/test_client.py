"""The client of the control API, at a server that answers what a test says."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from broker_lite.errors import ClientError, SettingsError
from broker_lite.testbench.http.client import Answer, ControlClient, refusal_text


class Server(ThreadingHTTPServer):
    """Remembers requests, and gives the same answer to all of them."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, str, bytes, str | None]] = []
        self.status = 200
        self.kind = "application/json"
        self.data = b"{}"


class Handler(BaseHTTPRequestHandler):
    def handle_any(self) -> None:
        assert isinstance(self.server, Server)
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.asked.append((self.command, self.path, body, self.headers["content-type"]))
        self.send_response(self.server.status)
        self.send_header("content-type", self.server.kind)
        self.end_headers()
        self.wfile.write(self.server.data)

    do_GET = do_POST = do_PATCH = handle_any

    def log_message(self, *_: Any) -> None:  # type: ignore[explicit-override]
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as started:
        thread = threading.Thread(target=started.serve_forever, args=(0.01,))
        thread.start()
        yield started
        started.shutdown()
        thread.join()


@pytest.fixture
def client(server: Server) -> ControlClient:
    return ControlClient(f"http://127.0.0.1:{server.server_port}")


def test_a_request(server: Server, client: ControlClient) -> None:
    server.data = b'{"id": "f1"}'
    assert client.request("POST", "/v1/faults", {"hold": True}) == Answer(200, {"id": "f1"})
    client.request("POST", "/v1/explain", b"\x00")
    client.request("GET", "/v1?limit=1")
    assert server.asked == [
        ("POST", "/v1/faults", b'{"hold": true}', "application/json"),
        ("POST", "/v1/explain", b"\x00", "application/octet-stream"),
        ("GET", "/v1?limit=1", b"", None),
    ]


@pytest.mark.parametrize(
    ("kind", "data", "body"),
    [
        ("application/json; charset=utf-8", b"[1]", [1]),
        ("application/json", b"oops", "oops"),
        ("text/plain", b"# HELP", "# HELP"),
        ("application/octet-stream", b"\x00\xff", b"\x00\xff"),
    ],
)
def test_bodies(
    server: Server, client: ControlClient, kind: str, data: bytes, body: object
) -> None:
    server.kind, server.data = kind, data
    assert client.request("GET", "/metrics").body == body


def test_a_refusal_is_an_answer(server: Server, client: ControlClient) -> None:
    server.status, server.data = 404, json.dumps({"error": "there is no rule 'x'"}).encode()
    answer = client.request("GET", "/v1/faults/x")
    assert (answer.status, refusal_text(answer.body)) == (404, "there is no rule 'x'")


def test_texts_of_refusals() -> None:
    assert refusal_text({"error": "no", "at": "rules[0]"}) == "rules[0]: no"
    assert refusal_text("Bad\nGateway") == "Bad Gateway"
    assert refusal_text({}) == "it is refused"


def test_events(server: Server, client: ControlClient) -> None:
    server.kind = "text/event-stream"
    server.data = b'id: r1\ndata: {"line": "r1"}\n\n: alive\n\ndata: {"line": "r2"}\n\n'
    assert list(client.events("/v1/requests")) == [{"line": "r1"}, {"line": "r2"}]
    server.status, server.kind, server.data = 400, "application/json", b'{"error": "no"}'
    with pytest.raises(ClientError, match=r"^no$"):
        list(client.events("/v1/requests"))


def test_a_broker_that_is_not_there() -> None:
    with socket.socket() as nobody:  # it has the port, and does not listen
        nobody.bind(("127.0.0.1", 0))
        check_refused(f"http://127.0.0.1:{nobody.getsockname()[1]}")


def check_refused(url: str) -> None:
    client = ControlClient(url)
    with pytest.raises(ClientError, match=rf"^the control API at {url}: .*refused"):
        client.request("GET", "/v1")
    with pytest.raises(ClientError, match="refused"):
        list(client.events("/v1/requests"))


def test_a_broker_that_does_not_answer(server: Server) -> None:
    silent = ThreadingHTTPServer(("127.0.0.1", 0), Handler)  # nobody serves it
    with silent, pytest.raises(ClientError, match="no answer in time"):
        ControlClient(f"http://127.0.0.1:{silent.server_port}").request("GET", "/v1", None, 0.05)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://127.0.0.1:9099", "http://127.0.0.1:9099"),
        ("http://broker", "http://broker:9099"),
        ("broker:1", "http://broker:1"),
        ("http://[::1]:1/", "http://[::1]:1"),
    ],
)
def test_urls(given: str, url: str) -> None:
    assert ControlClient(given).url == url


@pytest.mark.parametrize(
    "url", ["", "http://", "https://a:1", "http://a:x", "http://a/v1", "http://a:1?b", "http://["]
)
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(SettingsError, match="is no URL of a control API"):
        ControlClient(url)
