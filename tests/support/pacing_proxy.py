"""A proxy that is a slow network: it passes on so many bytes a second in each direction."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

_CHUNKS_PER_S: Final = 100


@contextmanager
def pacing_proxy(target: tuple[str, int], bytes_per_s: int) -> Iterator[tuple[str, int]]:
    """Take one connection and pass on what it brings; gives the address to connect to."""
    ended = Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)
        thread = Thread(target=_serve, args=(listener, target, bytes_per_s, ended))
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            ended.set()
            thread.join(30)


def _serve(
    listener: socket.socket, target: tuple[str, int], bytes_per_s: int, ended: Event
) -> None:
    client, _ = listener.accept()
    with client, socket.create_connection(target) as broker:
        ways = [
            Thread(target=_pass_on, args=(*way, bytes_per_s, ended))
            for way in ((client, broker), (broker, client))
        ]
        for way in ways:
            way.start()
        ended.wait()
        for sock in (client, broker):
            sock.shutdown(socket.SHUT_RDWR)
        for way in ways:
            way.join(30)


def _pass_on(source: socket.socket, target: socket.socket, bytes_per_s: int, ended: Event) -> None:
    while not ended.is_set():
        try:
            data = source.recv(bytes_per_s // _CHUNKS_PER_S)
            target.sendall(data)
        except OSError:  # the test is over
            return
        if not data:
            return
        ended.wait(len(data) / bytes_per_s)
