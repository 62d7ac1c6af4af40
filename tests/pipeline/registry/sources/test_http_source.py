import socket
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import trustme

from broker_lite.pipeline.registry.errors import RegistryDown, UnknownSchema, UnusableSchema
from broker_lite.pipeline.registry.settings import Format, RegistrySettings, StoredSchema
from broker_lite.pipeline.registry.sources import http_source
from broker_lite.pipeline.registry.sources.http_source import DOWN_S, PAUSE_S, HttpSource
from tests.support.registry_server import RegistryServer, answering

UNAVAILABLE = answering(503, {"message": "later"})


class Clock:
    """Goes forward by sleeping alone."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, duration_s: float) -> None:
        self.slept.append(duration_s)
        self.now_s += duration_s


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    with RegistryServer() as server:
        yield server


@pytest.fixture
def clock() -> Clock:
    return Clock()


def source(url: str, clock: Clock, **how: Any) -> HttpSource:
    return HttpSource(RegistrySettings(location=url, **how), clock, clock.sleep)


def test_schemas_by_id_and_by_subject(registry: RegistryServer, clock: Clock) -> None:
    registry.register("a/b-value", '"int"')
    latest = registry.register("a/b-value", '"long"')
    proto = registry.register("other", 'syntax = "proto3";', "PROTOBUF")
    for url in (registry.url, registry.url + "/"):
        asked = source(url, clock)
        assert asked.by_id(latest) == StoredSchema(Format.AVRO, '"long"')
        assert asked.by_id(proto) == StoredSchema(Format.PROTOBUF, 'syntax = "proto3";')
        assert asked.latest("a/b-value") == StoredSchema(Format.AVRO, '"long"')
    assert registry.requests[2] == "GET /subjects/a%2Fb-value/versions/latest"
    with pytest.raises(UnknownSchema, match=r"has no /schemas/ids/99$"):
        asked.by_id(99)
    with pytest.raises(UnknownSchema):
        asked.latest("nobody")


def test_references(registry: RegistryServer, clock: Clock) -> None:
    registry.register("last", "L")
    to_last = {"name": "a.Last", "subject": "last", "version": 1}
    registry.register("middle", "M", references=[to_last])
    to_middle = {"name": "a.Middle", "subject": "middle", "version": 1}
    first = registry.register("first", "F", references=[to_middle, to_last])
    expected = StoredSchema(Format.AVRO, "F", (("a.Last", "L"), ("a.Middle", "M")))
    assert source(registry.url, clock).by_id(first) == expected
    assert len(registry.requests) == 3


def test_references_have_an_end(
    registry: RegistryServer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = {"name": "a", "subject": "s", "version": 1}
    registry.register("s", "S", references=[reference])
    assert source(registry.url, clock).by_id(1).references == (("a", "S"),)
    monkeypatch.setattr(http_source, "REFERENCES_MAX", 0)
    with pytest.raises(UnusableSchema, match="more than 0 schemas"):
        source(registry.url, clock).by_id(1)


def test_basic_authentication(clock: Clock) -> None:
    with RegistryServer("me:secret") as registry:
        schema_id = registry.register("s", '"int"')
        assert source(registry.url, clock, user_info="me:secret").by_id(schema_id)
        for wrong in ("", "me:wrong"):
            with pytest.raises(UnusableSchema, match=r"401 Unauthorized .* is the user info right"):
                source(registry.url, clock, user_info=wrong).by_id(schema_id)
    assert clock.slept == []  # it would not help


def test_what_may_pass_is_tried_again(registry: RegistryServer, clock: Clock) -> None:
    schema_id = registry.register("s", '"int"')
    registry.faults += [UNAVAILABLE, answering(429, {}), answering(500, {})]
    assert source(registry.url, clock).by_id(schema_id).text == '"int"'
    assert clock.slept == [PAUSE_S, 2 * PAUSE_S, 4 * PAUSE_S]


def test_a_registry_that_is_down_is_left_alone_for_a_while(
    registry: RegistryServer, clock: Clock
) -> None:
    schema_id = registry.register("s", '"int"')
    asked = source(registry.url, clock, retries=1)
    registry.faults += [UNAVAILABLE] * 2
    for _ in range(3):
        with pytest.raises(RegistryDown, match=r"does not answer: 503 Service Unavailable$"):
            asked.by_id(schema_id)
    assert len(registry.requests) == 2
    clock.now_s += DOWN_S
    assert asked.by_id(schema_id)


@pytest.mark.parametrize(
    ("status", "answer", "expected"),
    [
        (200, b"<html>", "answers no JSON"),
        (200, [], "answers what is no schema"),
        (200, {"id": 5}, "answers what is no schema: KeyError 'schema'"),
        (200, {"schema": "{}", "schemaType": "JSON"}, "its type is JSON; AVRO and PROTOBUF"),
        (200, {"schema": "", "references": [{"name": "a"}]}, "answers what is no schema"),
        (200, b"x" * 2000, "more than 1000 bytes"),
        (302, {}, "answers 302 Found"),
        (403, {}, "403 Forbidden"),
    ],
)
def test_answers_of_no_use(
    registry: RegistryServer,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    answer: Any,
    expected: str,
) -> None:
    monkeypatch.setattr(http_source, "ANSWER_BYTES_MAX", 1000)
    registry.faults.append(answering(status, answer))
    with pytest.raises(UnusableSchema, match=expected):
        source(registry.url, clock).by_id(1)
    assert len(registry.requests) == 1


def test_nobody_listens(clock: Clock) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(RegistryDown, match="ConnectionRefusedError"):
        source(f"http://127.0.0.1:{port}", clock).by_id(1)
    assert len(clock.slept) == 3


def test_no_answer_in_time(clock: Clock) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        asked = source(
            f"http://127.0.0.1:{server.getsockname()[1]}", clock, timeout_ms=50, retries=0
        )
        with pytest.raises(RegistryDown, match="no answer within 50 ms"):
            asked.by_id(1)


def test_an_answer_that_drips_has_an_end(registry: RegistryServer, clock: Clock) -> None:
    is_over = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while not is_over.wait(0.01):
            handler.wfile.write(b" ")

    registry.faults.append(drip)
    try:
        with pytest.raises(RegistryDown, match="no answer within 200 ms"):
            source(registry.url, clock, timeout_ms=200, retries=0).by_id(1)
    finally:
        is_over.set()


def test_no_http(registry: RegistryServer, clock: Clock) -> None:
    registry.faults.append(lambda handler: handler.wfile.write(b"junk\r\n\r\n") and None)
    with pytest.raises(RegistryDown, match="BadStatusLine"):
        source(registry.url, clock, retries=0).by_id(1)
    with pytest.raises(UnusableSchema, match="is no URL"):
        source("http://host:no-port", clock).by_id(1)


def test_tls_by_the_trusted_authorities(
    registry: RegistryServer, clock: Clock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """OpenSSL reads the file of SSL_CERT_FILE as the system's store."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    schema_id = registry.register("s", '"int"')
    registry.secure(context)
    url = registry.url.replace("http:", "https:")
    with pytest.raises(RegistryDown, match="CERTIFICATE_VERIFY_FAILED"):
        source(url, clock, retries=0).by_id(schema_id)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    assert source(url, clock).by_id(schema_id).text == '"int"'


def test_a_dripping_head_has_an_end(registry: RegistryServer, clock: Clock) -> None:
    is_over = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
        while not is_over.wait(0.01):
            handler.wfile.write(b"x")

    registry.faults.append(drip)
    try:
        with pytest.raises(RegistryDown, match="no answer within 200 ms"):
            source(registry.url, clock, timeout_ms=200, retries=0).by_id(1)
    finally:
        is_over.set()
