"""Keys of signed tokens from files and URLs: when they are fetched, and what goes wrong.

Also tests: broker_lite.server.security.fetching.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from broker_lite.errors import SettingsError
from broker_lite.security.sasl.token_rules import KeyPlace
from broker_lite.server.security.fetching import fetch
from broker_lite.server.security.key_sources import FETCHED_BYTES_MAX, KeysOfUrl, open_keys, shown
from tests.differential.signed_token_cases import jwk

SET = json.dumps({"keys": [jwk("ec256")]}).encode()


def place(url: str = "http://u:hush@host/keys?hush") -> KeyPlace:
    return KeyPlace(url, 3_600_000, 100, 10_000)


class Issuer:
    """What a URL answers, and how often it was asked."""

    def __init__(self) -> None:
        self.now_ms = 1.0
        self.asked = 0
        self.answer: bytes | Exception = SET
        self.source = KeysOfUrl(place(), self.fetch, lambda: self.now_ms)

    def fetch(self, url: str, bytes_max: int) -> bytes:
        assert url == place().url
        assert bytes_max == FETCHED_BYTES_MAX
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not is_true():  # noqa: ASYNC110 - a thread makes it true
            await asyncio.sleep(0.001)


def test_x29_keys_are_fetched_once_until_they_are_old() -> None:
    async def scenario() -> None:
        issuer = Issuer()
        source = issuer.source
        assert source.keys() is None
        await asyncio.gather(*(source.ready() for _ in range(5)))
        keys = source.keys()
        assert keys is not None
        assert (len(keys), issuer.asked) == (1, 1)
        issuer.now_ms += 3_599_999
        await source.ready()
        assert issuer.asked == 1
        issuer.now_ms += 1
        await source.ready()
        assert issuer.asked == 2

    asyncio.run(scenario())


def test_x29_after_failures_the_pauses_grow(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        issuer = Issuer()
        issuer.answer = ConnectionRefusedError("refused")
        for pause_ms in (100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000):
            await issuer.source.ready()
            before = issuer.asked
            issuer.now_ms += pause_ms - 1
            await issuer.source.ready()
            assert issuer.asked == before
            issuer.now_ms += 1
        assert issuer.source.keys() is None
        issuer.answer = SET
        await issuer.source.ready()
        assert issuer.source.keys() is not None
        issuer.now_ms += 4_000_000
        issuer.answer = b"no set"
        await issuer.source.ready()
        assert issuer.source.keys() is not None

    asyncio.run(scenario())
    assert "http://host/keys: refused" in caplog.text
    assert "hush" not in caplog.text


def test_x29_a_missing_key_is_looked_for_once_a_minute() -> None:
    async def scenario() -> None:
        issuer = Issuer()
        source = issuer.source
        await source.ready()
        source.miss("new")
        await until(lambda: issuer.asked == 2)
        await source.ready()
        source.miss("new")
        source.miss("x" * 1001)
        await asyncio.sleep(0)
        assert issuer.asked == 2
        issuer.now_ms += 60_000
        await until(lambda: _settled(source))
        source.miss("new")
        await until(lambda: issuer.asked == 3)
        for number in range(100):
            source.miss(f"k{number}")
        assert issuer.asked <= 4

    asyncio.run(scenario())


def _settled(source: KeysOfUrl) -> bool:
    return source.keys() is not None


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "keys of me.json"
    path.write_bytes(SET)
    source = open_keys(place(path.as_uri()))
    keys = source.keys()
    assert keys is not None
    assert len(keys) == 1
    source.miss("x")
    asyncio.run(_ready(source.ready))
    path.write_bytes(b"[]")
    with pytest.raises(SettingsError, match=r'keys of me\.json: it has no list of "keys"'):
        open_keys(place(path.as_uri()))
    path.write_bytes(bytes(FETCHED_BYTES_MAX + 1))
    with pytest.raises(SettingsError, match="more than"):
        open_keys(place(path.as_uri()))
    with pytest.raises(SettingsError, match="No such file"):
        open_keys(place((tmp_path / "none").as_uri()))
    assert isinstance(open_keys(place()), KeysOfUrl)
    assert shown(place()) == "http://host/keys"


async def _ready(ready: Callable[[], object]) -> None:
    await ready()  # type: ignore[misc]


class Answers(BaseHTTPRequestHandler):
    """Answers by path."""

    def do_GET(self) -> None:
        if self.path == "/broken":
            self.wfile.write(b"no http\r\n\r\n")
            return
        status = {"/moved": 302, "/away": 302, "/none": 404}.get(self.path, 200)
        body = bytes(5000) if self.path == "/long" else SET
        self.send_response(status)
        if status == 302:
            target = "/keys" if self.path == "/moved" else "https://127.0.0.1:1/keys"
            self.send_header("Location", target)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Write nothing."""


@contextmanager
def serving() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def test_http() -> None:
    with serving() as url:
        assert fetch(f"{url}/keys", 1000) == SET
        assert fetch(f"{url}/moved", 1000) == SET
        for path, text in (
            ("/away", "another protocol"),
            ("/none", "HTTP 404"),
            ("/long", "more than 1000 bytes"),
            ("/broken", "no HTTP"),
        ):
            with pytest.raises(ValueError, match=text):
                fetch(url + path, 1000)
    with pytest.raises(OSError, match="refused"):
        fetch(url, 1000)
    for wrong in ("file:///etc/passwd", "ftp://127.0.0.1/x", "http://[x", "x"):
        with pytest.raises((OSError, ValueError)):
            fetch(wrong, 1000)
