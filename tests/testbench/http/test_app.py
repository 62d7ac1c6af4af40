"""What HTTP adds: who may ask, how large a body may be, streams."""

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from broker_lite.testbench.control.control import Control
from broker_lite.testbench.control.resource import Call, Done, Raw, Resource
from broker_lite.testbench.http.app import BODY_BYTES_MAX, App

pytestmark = pytest.mark.anyio


async def echo(call: Call) -> Raw:
    """Give back the body."""
    assert isinstance(call.body, bytes)
    return Raw("application/octet-stream", call.body)


async def count(call: Call) -> Raw:
    """Count for ever."""

    async def numbers() -> AsyncIterator[bytes]:
        for number in range(1000):
            yield b"%d\n" % number

    return Raw("text/event-stream", numbers())


ended: list[str] = []


async def wait(_call: Call) -> Done:
    """Wait for some time."""
    try:
        await anyio.sleep(0.05)
    except anyio.get_cancelled_exc_class():
        ended.append("cancelled")
        raise
    ended.append("done")
    return Done()


class Exchange:
    """One request at the application, without a server."""

    def __init__(self, method: str, path: str, *parts: bytes, **headers: str) -> None:
        named = {"host": "127.0.0.1:9099", **{k.replace("_", "-"): v for k, v in headers.items()}}
        self.scope = {
            "type": "http",
            "method": method,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in named.items() if value],
        }
        self._parts = list(parts) or [b""]
        self.sent: list[dict[str, Any]] = []

    async def receive(self) -> dict[str, object]:
        if not self._parts:
            return {"type": "http.disconnect"}
        part = self._parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(self._parts)}

    async def send(self, message: dict[str, Any]) -> None:
        await anyio.lowlevel.checkpoint()
        self.sent.append(message)

    @property
    def control(self) -> Control:
        bench: Any = None
        table = [
            Resource("POST", "/v1/echo", echo, body=bytes),
            Resource("GET", "/v1/count", count),
            Resource("GET", "/v1/slow", wait),
            Resource("POST", "/v1/slow/wait", wait),
            Resource("POST", "/v1/slow/change", wait),
        ]
        return Control(bench, table)

    async def run(self) -> tuple[int, bytes]:
        await App(self.control)(self.scope, self.receive, self.send)
        body = b"".join(each.get("body", b"") for each in self.sent[1:])
        return self.sent[0]["status"], body


OCTETS = {"content_type": "application/octet-stream", "content_length": "6"}


async def test_a_body_comes_in_parts() -> None:
    assert await Exchange("POST", "/v1/echo", b"abc", b"def", **OCTETS).run() == (200, b"abcdef")


async def test_octets_may_come_as_a_text_of_json() -> None:
    json_text = {"content_type": "application/json; charset=utf-8", "content_length": "6"}
    assert await Exchange("POST", "/v1/echo", b'"a\\nb"', **json_text).run() == (200, b"a\nb")
    assert await Exchange("POST", "/v1/echo", b'"a\\nb"', **OCTETS).run() == (200, b'"a\\nb"')


async def test_a_head_has_no_body() -> None:
    status, body = await Exchange("HEAD", "/v1/nothing").run()
    assert (status, body) == (404, b"")


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9098"},
        {"host": "evil.example"},
        {"host": "evil.example:9099"},
        {"host": "1.2.3.4.evil.example"},
    ],
)
async def test_a_web_page_cannot_drive_the_broker(headers: dict[str, str]) -> None:
    status, body = await Exchange("POST", "/v1/echo", b"x", **OCTETS, **headers).run()
    assert status == 403
    assert json.loads(body)["error"]


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://127.0.0.1:9099"},
        {"host": "localhost:9099"},
        {"host": "broker"},
        {"host": "broker:9099"},
        {"host": "[::1]:9099"},
        {"host": "[::1]"},
        {"host": "192.168.0.7"},
        {"host": "host.docker.internal:9099"},
    ],
)
async def test_who_may_ask(headers: dict[str, str]) -> None:
    assert await Exchange("POST", "/v1/echo", b"x", **OCTETS, **headers).run() == (200, b"x")


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded"])
async def test_a_form_is_not_taken(kind: str) -> None:
    exchange = Exchange("POST", "/v1/echo", b"x", content_length="1", content_type=kind)
    assert (await exchange.run())[0] == 415


async def test_a_path_tells_its_methods() -> None:
    exchange = Exchange("GET", "/v1/echo")
    assert (await exchange.run())[0] == 405
    assert (b"allow", b"POST") in exchange.sent[0]["headers"]


async def test_a_body_has_a_bound() -> None:
    part = bytes(1 << 20)
    parts = [part] * (BODY_BYTES_MAX // len(part) + 1)
    assert (await Exchange("POST", "/v1/echo", *parts, **OCTETS).run())[0] == 413


async def test_a_stream_ends_when_the_client_goes() -> None:
    exchange = Exchange("GET", "/v1/count")
    status, _ = await exchange.run()
    assert status == 200
    assert len(exchange.sent) < 1000


@pytest.mark.parametrize(
    ("method", "path", "end"),
    [
        ("GET", "/v1/slow", "cancelled"),
        ("HEAD", "/v1/slow", "cancelled"),
        ("POST", "/v1/slow/wait", "cancelled"),
        ("POST", "/v1/slow/change", "done"),
    ],
)
async def test_a_look_ends_when_the_client_goes_and_a_change_goes_on(
    method: str, path: str, end: str
) -> None:
    ended.clear()
    exchange = Exchange(method, path)
    await App(exchange.control)(exchange.scope, exchange.receive, exchange.send)
    assert ended == [end]
    assert bool(exchange.sent) == (end == "done")


async def served(exchange: Exchange) -> tuple[int, bytes, dict[str, str]]:
    status, body = await exchange.run()
    headers = {name.decode(): value.decode() for name, value in exchange.sent[0]["headers"]}
    return status, body, headers


async def test_the_page_is_served_with_its_policy() -> None:
    status, body, headers = await served(Exchange("GET", "/"))
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert body.startswith(b"<!doctype html>")
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-length"] == str(len(body))


async def test_a_browser_that_has_the_page_is_told_so() -> None:
    _, _, headers = await served(Exchange("GET", "/page/app.js"))
    status, body, _ = await served(Exchange("GET", "/page/app.js", if_none_match=headers["etag"]))
    assert (status, body) == (304, b"")


async def test_the_head_of_the_page() -> None:
    status, body, headers = await served(Exchange("HEAD", "/"))
    assert (status, body) == (200, b"")
    assert int(headers["content-length"]) > 0


async def test_the_page_is_only_looked_at() -> None:
    status, _, headers = await served(Exchange("DELETE", "/"))
    assert (status, headers["allow"]) == (405, "GET, HEAD")
    assert (await Exchange("GET", "/page/nothing.js").run())[0] == 404


async def test_a_foreign_name_does_not_get_the_page() -> None:
    assert (await Exchange("GET", "/", host="evil.example").run())[0] == 403
