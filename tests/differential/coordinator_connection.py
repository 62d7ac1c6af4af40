"""Connections that are asked one thing at a time, as many at once as there are open requests.

A parked JoinGroup keeps its connection busy until it is answered (P-04), so whoever asks next takes
another one. The client id is in each request's header, so any connection serves any client.
"""

import asyncio
import struct
from typing import Any

from broker_lite.wire import messages


class Closed(Exception):
    """The broker closed the connection instead of answering."""


class Connection:
    """One connection to a broker."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._correlation_id = 0

    async def ask(self, request: Any, version: int, client_id: str) -> Any:
        """Send a request value and return the decoded response value."""
        question = getattr(messages, type(request).__name__)
        api_key = question.api_key
        answer = messages.by_api(api_key)[1]
        flexible = question.flexible_from is not None and version >= question.flexible_from
        self._correlation_id += 1
        name = client_id.encode()
        head = struct.pack(">hhih", api_key, version, self._correlation_id, len(name))
        body = question.encode(request, version)
        frame = head + name + (b"\x00" if flexible else b"") + body
        try:
            self._writer.write(struct.pack(">i", len(frame)) + frame)
            (size,) = struct.unpack(">i", await self._reader.readexactly(4))
            data = await self._reader.readexactly(size)
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            raise Closed(str(error)) from error
        assert struct.unpack_from(">i", data)[0] == self._correlation_id
        start = 5 if flexible and api_key != messages.ApiVersionsRequest.api_key else 4
        value, end = answer.decode(data[start:], version)
        assert start + end == len(data), "bytes after the response"
        return value

    def close(self) -> None:
        """Close it, whatever is open on it."""
        self._writer.close()


class Connections:
    """The connections to one broker; those that are idle are used again."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._idle: list[Connection] = []

    async def ask(self, request: Any, version: int, client_id: str = "harness") -> Any:
        """Ask on an idle connection; one that did not get its answer is closed."""
        connection = self._idle.pop() if self._idle else await self._open()
        try:
            answer = await connection.ask(request, version, client_id)
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return answer

    def close(self) -> None:
        """Close what is idle."""
        while self._idle:
            self._idle.pop().close()

    async def _open(self) -> Connection:
        return Connection(*await asyncio.open_connection(*self._address, limit=1 << 22))
