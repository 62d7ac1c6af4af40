"""A bare os.sendfile loop behind a loopback socket: the most that a fetch can reach.

A child process answers each 4-byte request with a 4-byte size and one range of a file, exactly as a
broker without any protocol would; the client is the load client of the other benchmarks.
"""

import os
import socket
import struct
import tempfile
import time

from broker_lite.server.pacing import accept_unpaced
from tests.bench.load_client import LoadClient

FILE_BYTES = 1_000_000_000
REQUESTS = 4000
ROUNDS = 3


def _serve(listener: socket.socket, descriptor: int, answer_bytes: int) -> None:
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    size = struct.pack(">i", answer_bytes)
    position = 0
    while request := connection.recv(4096):
        for _ in range(len(request) // 4):
            connection.send(size, socket.MSG_MORE)
            left = answer_bytes
            while left:
                sent = os.sendfile(connection.fileno(), descriptor, position, left)
                position, left = position + sent, left - sent
            if position + answer_bytes > FILE_BYTES:
                position = 0


def bare_sendfile_mb_per_s(answer_bytes: int, in_flight: int) -> float:
    """The best of three rounds, in 10^6 bytes per second."""
    with tempfile.TemporaryFile() as file, socket.create_server(("127.0.0.1", 0)) as listener:
        chunk = os.urandom(1 << 20)
        while file.tell() < FILE_BYTES:
            file.write(chunk)
        file.flush()
        accept_unpaced(listener)  # as the broker's own
        child = os.fork()
        if child == 0:
            _serve(listener, file.fileno(), answer_bytes)
            os._exit(0)
        client = LoadClient(*listener.getsockname())
        rates = []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            client.run(lambda _: b"next", REQUESTS, in_flight)
            rates.append(REQUESTS * answer_bytes / (time.perf_counter() - started) / 1e6)
        client.close()
        os.waitpid(child, 0)
    return max(rates)
