"""A schema registry over HTTP, as Confluent's answers it.

Each request has a deadline for the whole of it, once it is connected. What may pass (no connection,
429, 5xx) is tried again after a pause that doubles. When that was in vain, no request is sent for
DOWN_S seconds: a job with many schema ids waits once for a registry that is down, not once for each
id. A redirect is an error, because the password would go along.
"""

import base64
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Final, Self
from urllib.parse import quote, urlsplit

from broker_lite.pipeline.registry.errors import RegistryDown, UnknownSchema, UnusableSchema
from broker_lite.pipeline.registry.settings import Format, RegistrySettings, StoredSchema

ANSWER_BYTES_MAX: Final = 8 << 20
REFERENCES_MAX: Final = 1_000
PAUSE_S: Final = 0.2
DOWN_S: Final = 10.0

_FORMATS: Final[Mapping[str, Format]] = {"AVRO": Format.AVRO, "PROTOBUF": Format.PROTOBUF}
_ACCEPT: Final = "application/vnd.schemaregistry.v1+json, application/json"

Json = Any
"""What an answer holds; it is checked where it is used."""


class _Deadline:
    """Ends a connection after some time, even if a byte comes now and then.

    Args:
        connected: the socket.
        timeout_s: from entering the block on.
    """

    def __init__(self, connected: socket.socket, timeout_s: float) -> None:
        self._socket = connected
        self._is_over = threading.Event()
        self._timer = threading.Timer(timeout_s, self._end)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Stop the clock.

        Raises:
            TimeoutError: in the place of the error that a connection gives that was ended.
        """
        self._timer.cancel()
        if kind is not None:
            self.check()

    def check(self) -> None:
        """Raise TimeoutError if the time is over."""
        if self._is_over.is_set():
            raise TimeoutError

    def _end(self) -> None:
        self._is_over.set()
        with suppress(OSError):
            # Not a TLS socket's own shutdown, which would wait for the other thread's read.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class HttpSource:
    """Asks a registry; each schema anew, so the caller keeps what it gets.

    Args:
        settings: with a URL.
        clock_s: seconds that only go forward.
        sleep: waits for seconds.
    """

    def __init__(
        self,
        settings: RegistrySettings,
        clock_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._settings = settings
        self._clock_s = clock_s
        self._sleep = sleep
        self._down_until_s = float("-inf")
        self._down_reason = ""

    def by_id(self, schema_id: int) -> StoredSchema:
        """Return the schema of an id; see SchemaSource."""
        return self._stored(self._get(f"/schemas/ids/{schema_id}"))

    def latest(self, subject: str) -> StoredSchema:
        """Return the latest schema of a subject; see SchemaSource."""
        return self._stored(self._get(f"/subjects/{quote(subject, safe='')}/versions/latest"))

    def _stored(self, answer: Json) -> StoredSchema:
        found: dict[str, str] = {}
        try:
            self._gather(answer, found, set())
            kind = answer.get("schemaType") or "AVRO"
            text = answer["schema"]
        except (AttributeError, KeyError, TypeError, RecursionError) as error:
            told = f"{type(error).__name__} {error}"
            raise UnusableSchema(
                f"{self._settings.location} answers what is no schema: {told}"
            ) from error
        if kind not in _FORMATS:
            raise UnusableSchema(f"its type is {kind}; AVRO and PROTOBUF are read")
        return StoredSchema(_FORMATS[kind], text, tuple(found.items()))

    def _gather(self, answer: Json, found: dict[str, str], seen: set[str]) -> None:
        """Collect the texts that an answer refers to, those without references first."""
        for reference in answer.get("references") or ():
            name = reference["name"]
            if name in seen:
                continue
            if len(seen) >= REFERENCES_MAX:
                raise UnusableSchema(f"it refers to more than {REFERENCES_MAX:,} schemas")
            seen.add(name)
            subject = quote(reference["subject"], safe="")
            used = self._get(f"/subjects/{subject}/versions/{int(reference['version'])}")
            self._gather(used, found, seen)
            found[name] = used["schema"]

    def _get(self, path: str) -> Json:
        if self._clock_s() < self._down_until_s:
            raise RegistryDown(self._down_reason)
        pause_s = PAUSE_S
        for left in range(self._settings.retries, -1, -1):
            try:
                return self._asked(path)
            except RegistryDown as error:
                if not left:
                    self._down_until_s = self._clock_s() + DOWN_S
                    self._down_reason = str(error)
                    raise
            self._sleep(pause_s)
            pause_s *= 2
        raise AssertionError("the last request returns or raises")

    def _asked(self, path: str) -> Json:
        """Send one request; return its answer.

        Raises:
            RegistryDown: it may help to ask again.
            UnknownSchema: there is no such schema.
            UnusableSchema: the answer is an error that stays.
        """
        url = urlsplit(self._settings.location)
        timeout_s = self._settings.timeout_ms / 1000
        connection = self._connection(url.scheme, url.netloc, timeout_s)
        try:
            connection.connect()
            with _Deadline(connection.sock, timeout_s) as deadline:
                connection.request("GET", url.path.rstrip("/") + path, headers=self._headers())
                answer = connection.getresponse()
                body = answer.read(ANSWER_BYTES_MAX + 1)
                deadline.check()
        except TimeoutError as error:
            raise self._down(f"no answer within {self._settings.timeout_ms} ms") from error
        except (OSError, HTTPException, ValueError) as error:
            raise self._down(f"{type(error).__name__} {error}") from error
        finally:
            connection.close()
        return self._answer(path, answer.status, answer.reason, body)

    def _connection(self, scheme: str, address: str, timeout_s: float) -> HTTPConnection:
        try:
            if scheme.lower() == "https":
                context = ssl.create_default_context()
                return HTTPSConnection(address, timeout=timeout_s, context=context)
            return HTTPConnection(address, timeout=timeout_s)
        except (HTTPException, ValueError) as error:
            raise UnusableSchema(f"{self._settings.location} is no URL: {error}") from error

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": _ACCEPT, "User-Agent": "broker-lite"}
        if self._settings.user_info:
            coded = base64.b64encode(self._settings.user_info.encode()).decode()
            headers["Authorization"] = f"Basic {coded}"
        return headers

    def _answer(self, path: str, status: int, reason: str, body: bytes) -> Json:
        location = self._settings.location
        if len(body) > ANSWER_BYTES_MAX:
            raise UnusableSchema(f"{location} answers more than {ANSWER_BYTES_MAX} bytes")
        if status == 200:
            try:
                return json.loads(body)
            except (ValueError, RecursionError) as error:
                raise UnusableSchema(f"{location} answers no JSON to {path}") from error
        if status == 404:
            raise UnknownSchema(f"{location} has no {path}")
        if status == 429 or status >= 500:
            raise self._down(f"{status} {reason}")
        hint = "; is the user info right?" if status in (401, 403) else ""
        raise UnusableSchema(f"{location} answers {status} {reason} to {path}{hint}")

    def _down(self, reason: str) -> RegistryDown:
        text = " ".join(reason.split())
        return RegistryDown(f"the registry {self._settings.location} does not answer: {text}")
