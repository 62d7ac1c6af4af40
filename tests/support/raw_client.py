"""A blocking client that sends exactly the bytes it is given, and decodes with the wire room."""

import socket
import struct
from typing import Any, Self

from broker_lite.wire import messages
from broker_lite.wire.messages import MessageType


class Closed(Exception):
    """The broker closed the connection instead of answering."""


class RawClient:
    """One connection to a broker; a context manager.

    Times out with TimeoutError when the broker does not answer within `timeout_s`.
    """

    def __init__(
        self, host: str, port: int, *, client_id: str = "raw-client", timeout_s: float = 10
    ) -> None:
        self._client_id = client_id.encode()
        self._correlation_id = 0
        self.socket = socket.create_connection((host, port), timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()

    def send(self, api_key: int, version: int, body: bytes, *, flexible: bool) -> int:
        """Send one request and return its correlation id."""
        self._correlation_id += 1
        head = struct.pack(">hhih", api_key, version, self._correlation_id, len(self._client_id))
        frame = head + self._client_id + (b"\x00" if flexible else b"") + body
        try:
            self.socket.sendall(struct.pack(">i", len(frame)) + frame)
        except ConnectionError as error:
            raise Closed(str(error)) from error
        return self._correlation_id

    def receive(self, *, flexible: bool) -> tuple[int, bytes]:
        """Read one response: its correlation id and its body."""
        (size,) = struct.unpack(">i", self._read(4))
        frame = self._read(size)
        (correlation_id,) = struct.unpack_from(">i", frame)
        return correlation_id, frame[5:] if flexible else frame[4:]

    def request(self, message: MessageType, value: Any, version: int) -> Any:
        """Send a request value and return the decoded response value."""
        assert message.api_key is not None
        return self.exchange(message.api_key, version, message.encode(value, version))

    def call(self, name: str, version: int, **fields: Any) -> Any:
        """Send a request by the name of its API and return the decoded response value."""
        kind = getattr(messages, f"{name}Request")
        return self.request(kind, kind(**fields), version)

    def exchange(self, api_key: int, version: int, body: bytes) -> Any:
        """Send the bytes of a request body and return the decoded response value."""
        request, response = messages.by_api(api_key)
        flexible = request.flexible_from is not None and version >= request.flexible_from
        sent = self.send(api_key, version, body, flexible=flexible)
        correlation_id, answer = self.receive(flexible=flexible and api_key != 18)
        assert correlation_id == sent
        value, end = response.decode(answer, version)
        assert end == len(answer), "bytes after the response"
        return value

    def _read(self, size: int) -> bytes:
        chunks = bytearray()
        while len(chunks) < size:
            try:
                chunk = self.socket.recv(min(size - len(chunks), 1 << 20))
            except ConnectionError as error:
                raise Closed(str(error)) from error
            if not chunk:
                raise Closed("end of stream")
            chunks += chunk
        return bytes(chunks)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
