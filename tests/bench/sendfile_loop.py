"""A bare os.sendfile loop behind a loopback socket: the most that a fetch can reach.

A child process answers each 4-byte request with a 4-byte size and the next range of a file, exactly
as a broker without any protocol would; the client is the load client of the other benchmarks.
"""

import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from broker_lite.server.pacing import accept_unpaced
from tests.bench.load_client import LoadClient, Round, measure


def bare_sendfile_rounds(
    path: Path, answer_bytes: int, *, requests: int, in_flight: int, rounds: int
) -> Iterator[Round]:
    """A warm-up, then the rounds, one at each step; the child ends with the last.

    Args:
        path: the file to send, from its start again when it comes to its end.
        answer_bytes: bytes of one answer without its size.
        requests: in each round.
        in_flight: requests that are sent before an answer is there.
        rounds: how many.
    """
    with path.open("rb") as file, socket.create_server(("127.0.0.1", 0)) as listener:
        accept_unpaced(listener)  # as the broker's own
        child = os.fork()
        if child == 0:
            _serve(listener, file.fileno(), answer_bytes)
            os._exit(0)
        client = LoadClient(*listener.getsockname())
        client.run(lambda _: b"next", requests, in_flight)
        for _ in range(rounds):
            yield measure(client, child, lambda _: b"next", requests=requests, in_flight=in_flight)
        client.close()
        os.waitpid(child, 0)


def _serve(listener: socket.socket, descriptor: int, answer_bytes: int) -> None:
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    size = struct.pack(">i", answer_bytes)
    last = os.fstat(descriptor).st_size - answer_bytes
    position = 0
    while request := connection.recv(4096):
        for _ in range(len(request) // 4):
            connection.send(size, socket.MSG_MORE)
            left = answer_bytes
            while left:
                sent = os.sendfile(connection.fileno(), descriptor, position, left)
                position, left = position + sent, left - sent
            if position > last:
                position = 0
