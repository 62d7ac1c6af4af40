"""A client of the control API over HTTP, for the command line and for tests."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from broker_lite.errors import ClientError, SettingsError

DEFAULT_URL: Final = "http://127.0.0.1:9099"
_PORT: Final = 9099
_OK: Final = 200
_JSON: Final = "application/json"
_OCTETS: Final = "application/octet-stream"
_DATA: Final = "data:"


class Answer(NamedTuple):
    """What the control API answers.

    Attributes:
        status: of HTTP.
        body: its JSON, decoded; bytes where it is octets, and else a text.
    """

    status: int
    body: object


class ControlClient:
    """Sends requests; each has a connection of its own, so threads can share it.

    Attributes:
        url: of the broker, without a path.
    """

    def __init__(self, url: str = DEFAULT_URL) -> None:
        """Connect to nothing yet.

        Args:
            url: http://HOST:PORT; the port is 9099 if it is left out.

        Raises:
            SettingsError: it is no such URL.
        """
        try:
            parts = urlsplit(url if "://" in url else f"http://{url}")
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if not host or parts.scheme != "http" or parts.path.strip("/") or parts.query:
            raise SettingsError(f"{url!r} is no URL of a control API; write http://HOST:PORT")
        self._host = host
        self._port = _PORT if port is None else port
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._port}"

    def request(
        self, method: str, path: str, body: object = None, timeout_s: float | None = None
    ) -> Answer:
        """Send a request, and return its answer, also a refusal.

        Args:
            method: of HTTP, in capitals.
            path: with percent-encoded names and the query.
            body: what becomes JSON; bytes are sent as they are; None for none.
            timeout_s: for the connection and for each part of the answer; None for no end.

        Raises:
            ClientError: the broker cannot be reached, or the answer does not come.
        """
        with closing(self._connection(timeout_s)) as connection:
            try:
                answer = self._sent(connection, method, path, body)
                data = answer.read()
            except (OSError, http.client.HTTPException) as error:
                raise self._unreachable(error) from error
        return Answer(answer.status, _decoded(data, answer.getheader("content-type", "")))

    def events(self, path: str) -> Iterator[object]:
        """Yield the events of a stream as they come, decoded, until the broker ends it.

        Args:
            path: with the query.

        Raises:
            ClientError: the broker cannot be reached, or refuses.
        """
        with closing(self._connection(None)) as connection:
            try:
                answer = self._sent(connection, "GET", path, None, accept="text/event-stream")
                if answer.status != _OK:
                    told = _decoded(answer.read(), answer.getheader("content-type", ""))
                    raise ClientError(refusal_text(told))
                while line := answer.readline():
                    text = line.decode("utf-8", "replace")
                    if text.startswith(_DATA):
                        yield _decoded(text.removeprefix(_DATA).strip().encode(), _JSON)
            except (OSError, http.client.HTTPException) as error:
                raise self._unreachable(error) from error

    def _connection(self, timeout_s: float | None) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self._host, self._port, timeout=timeout_s)

    def _sent(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: object,
        accept: str = _JSON,
    ) -> http.client.HTTPResponse:
        headers = {"Accept": accept}
        data = body if isinstance(body, bytes) else None
        if body is not None:
            headers["Content-Type"] = _JSON if data is None else _OCTETS
            data = json.dumps(body).encode() if data is None else data
        connection.request(method, path, data, headers)
        return connection.getresponse()

    def _unreachable(self, error: Exception) -> ClientError:
        if isinstance(error, TimeoutError):
            why = "no answer in time"
        elif isinstance(error, ConnectionRefusedError):
            why = "connection refused; a broker serves it if it is started with --control"
        else:
            why = str(error.strerror if isinstance(error, OSError) else error) or repr(error)
        return ClientError(f"the control API at {self.url}: {why}")


def refusal_text(body: object) -> str:
    """Return the one line of a refusal, with the place that is wrong, or what is there instead."""
    if not isinstance(body, dict):
        return " ".join(str(body).split())
    at = f"{body['at']}: " if "at" in body else ""
    found = body.get("found")
    is_told = found is None or (isinstance(found, dict) and "near" in found)
    there = "" if is_told else f"; there is {json.dumps(found)}"
    return f"{at}{body.get('error', 'it is refused')}{there}"


def _decoded(data: bytes, media_type: str) -> object:
    kind = media_type.partition(";")[0].strip().lower()
    if kind == _OCTETS:
        return data
    text = data.decode("utf-8", "replace")
    if kind != _JSON:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
