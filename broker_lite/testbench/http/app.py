"""The control API as an ASGI application: what HTTP adds to the control function.

A web page must not be able to drive a broker on this machine: requests with a foreign Origin, with
a Host that is no address of this machine, or with a body that does not say it is JSON, are refused.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final

import anyio

from broker_lite.testbench.control.control import Control, Reply
from broker_lite.testbench.control.resource import Caller
from broker_lite.testbench.page.files import is_page, page_file, policy

Scope = Mapping[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[dict[str, object]], Awaitable[None]]

BODY_BYTES_MAX: Final = 64 * 1024 * 1024
_JSON: Final = "application/json"
_LINES: Final = "application/x-ndjson"
_OCTETS: Final = "application/octet-stream"
_FORM: Final = "application/x-www-form-urlencoded"
# What a page of another origin may send, because it changes nothing and the page cannot read it.
_TAKES_FORMS: Final = frozenset({"/oauth/token"})
_OK: Final = 200
_NOT_MODIFIED: Final = 304
_FORBIDDEN: Final = 403
_NOT_FOUND: Final = 404
_NOT_ALLOWED: Final = 405
_TOO_LARGE: Final = 413
_UNSUPPORTED: Final = 415


class App:
    """The application."""

    def __init__(self, control: Control) -> None:
        """Serve a control function."""
        self._control = control

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        reply = _refused(scope["method"], _path(scope), headers)
        if reply is None and is_page(_path(scope)):
            await _send_page(send, scope["method"], _path(scope), headers)
            return
        if reply is None:
            body = await _body(receive)
            is_json = _media_type(headers) == _JSON
            if body is None:
                reply = _too_large()
            else:
                caller = Caller(headers.get("host", ""), headers.get("authorization", ""))
                reply = await self._answer(scope, receive, body, is_json, caller)
        if reply is not None:
            await _send(send, receive, reply, scope["method"] != "HEAD")

    async def _answer(
        self, scope: Scope, receive: Receive, body: bytes, is_json: bool, caller: Caller
    ) -> Reply | None:
        """Carry out a request; return None if it waited or looked for a caller that has gone.

        What changes something goes on to its end, whether or not anybody waits for the answer.
        """
        path = _path(scope)
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        reply: Reply | None = None
        async with anyio.create_task_group() as group:
            if self._control.only_looks(method, path):
                group.start_soon(_cancel_when_gone, receive, group.cancel_scope)
            query = scope["query_string"].decode()
            reply = await self._control.request(
                method, path, query, body, is_json=is_json, caller=caller
            )
            group.cancel_scope.cancel()
        return reply


async def _cancel_when_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    """Cancel a scope when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _path(scope: Scope) -> str:
    path: str = scope["raw_path"].decode("latin-1").partition("?")[0]
    return path


def _refused(method: str, path: str, headers: Mapping[str, str]) -> Reply | None:
    """Return the refusal of a request that a web page may have made; None if it is allowed."""
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is not None and origin.partition("://")[2] != host:
        return _refusal(_FORBIDDEN, f"requests from {origin} are not taken")
    if not _is_own_name(host):
        text = f"Host: {host} is no name of this machine; use its address, or localhost"
        return _refusal(_FORBIDDEN, text)
    kind = _media_type(headers)
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    taken = {_JSON, _LINES, _OCTETS} | ({_FORM} if path in _TAKES_FORMS else set())
    if method != "GET" and has_body and kind not in taken:
        return _refusal(_UNSUPPORTED, f"send a body as Content-Type: {_JSON}")
    return None


def _media_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _is_own_name(host: str) -> bool:
    """True for an address or a name without a dot: no name that a foreign DNS server can answer."""
    name = host.rpartition(":")[0] if _has_port(host) else host
    return (
        name.startswith("[")
        or "." not in name
        or name.endswith((".localhost", ".internal", ".local"))
        or all(part.isdigit() for part in name.split("."))
    )


def _has_port(host: str) -> bool:
    return host.rpartition(":")[2].isdigit() and not host.endswith("]")


async def _body(receive: Receive) -> bytes | None:
    """Read the body; None if it is too large."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"".join(parts)
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > BODY_BYTES_MAX:
            return None
        if not message.get("more_body"):
            return b"".join(parts)


async def _send_page(send: Send, method: str, path: str, headers: Mapping[str, str]) -> None:
    """Send a file of the page; a browser that has it is told that it is the same."""
    found = page_file(path)
    told: list[tuple[bytes, bytes]] = [(b"x-content-type-options", b"nosniff")]
    body = b""
    if method not in {"GET", "HEAD"}:
        status = _NOT_ALLOWED
        told.append((b"allow", b"GET, HEAD"))
    elif found is None:
        status, body = _NOT_FOUND, f"there is no {path}\n".encode()
        told.append((b"content-type", b"text/plain; charset=utf-8"))
    else:
        is_known = headers.get("if-none-match") == found.tag
        status, body = (_NOT_MODIFIED, b"") if is_known else (_OK, found.data)
        told += [
            (b"content-type", found.media_type.encode()),
            (b"etag", found.tag.encode()),
            (b"cache-control", b"no-cache"),
            (b"content-security-policy", policy().encode()),
            (b"referrer-policy", b"no-referrer"),
        ]
    if status != _NOT_MODIFIED:
        told.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": told})
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else body})


async def _send(send: Send, receive: Receive, reply: Reply, has_body: bool) -> None:
    headers = [(b"content-type", reply.media_type.encode()), (b"cache-control", b"no-store")]
    if reply.allowed:
        headers.append((b"allow", ", ".join(reply.allowed).encode()))
    if isinstance(reply.body, bytes):
        headers.append((b"content-length", str(len(reply.body)).encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    if isinstance(reply.body, bytes):
        await send({"type": "http.response.body", "body": reply.body if has_body else b""})
    else:
        await _stream(send, receive, reply.body)


async def _stream(send: Send, receive: Receive, parts: AsyncIterator[bytes]) -> None:
    """Send parts as they come, until they end or the client goes."""
    async with anyio.create_task_group() as group:
        group.start_soon(_cancel_when_gone, receive, group.cancel_scope)
        async for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        group.cancel_scope.cancel()
    await send({"type": "http.response.body", "body": b""})


def _refusal(status: int, text: str) -> Reply:
    return Reply(status, json.dumps({"error": text}).encode())


def _too_large() -> Reply:
    return _refusal(_TOO_LARGE, f"the body has more than {BODY_BYTES_MAX} bytes")
