"""A server of the loopback that does to its clients whatever a test says."""

import socket
import struct
import threading
from collections.abc import Callable
from typing import Self

from broker_lite.wire import messages

Script = Callable[[socket.socket], None]
CLIENT_TIMEOUT_S = 20


class ScriptedServer:
    """Runs a script for one client after the other; a context manager.

    After a script the connection is closed. A script that reads from a client that has gone is
    over, too.
    """

    def __init__(self, *scripts: Script) -> None:
        self._scripts = scripts
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def bootstrap(self) -> str:
        """HOST:PORT for clients."""
        return f"127.0.0.1:{self.port}"

    def _run(self) -> None:
        for script in self._scripts:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client:
                client.settimeout(CLIENT_TIMEOUT_S)
                try:
                    script(client)
                except OSError:
                    continue

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(CLIENT_TIMEOUT_S)


def read_request(client: socket.socket) -> tuple[int, int, int]:
    """Read one request: its API key, its version and its correlation id."""
    (size,) = struct.unpack(">i", _read(client, 4))
    key, version, correlation_id = struct.unpack_from(">hhi", _read(client, size))
    return key, version, correlation_id


def wait_for_end(client: socket.socket) -> None:
    """Answer nothing until the client has gone."""
    while client.recv(1 << 16):
        pass


def answer(client: socket.socket, correlation_id: int, body: bytes) -> None:
    """Send an answer."""
    client.sendall(struct.pack(">ii", 4 + len(body), correlation_id) + body)


def speak(client: socket.socket, **versions: tuple[int, int]) -> None:
    """Answer ApiVersions: these APIs in these versions, and ApiVersions itself."""
    _, version, correlation_id = read_request(client)
    api = messages.ApiVersionsResponse.ApiVersion
    keys = [api(api_key=18, min_version=0, max_version=3)]
    keys += [
        api(api_key=getattr(messages, f"{name}Request").api_key, min_version=low, max_version=high)
        for name, (low, high) in versions.items()
    ]
    value = messages.ApiVersionsResponse(api_keys=keys)
    answer(client, correlation_id, messages.ApiVersionsResponse.encode(value, version))


def _read(client: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = client.recv(size - len(data))
        if not chunk:
            raise ConnectionError("the client has gone")
        data += chunk
    return data
