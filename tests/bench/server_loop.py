"""What the server room costs by itself, beside bare loops over the same sockets and file.

    python tests/bench/server_loop.py [--seconds 2] [--rounds 3]

Small requests: an ApiVersions-like request of about 20 bytes and an answer of 30, one in flight,
against a bare epoll loop that receives and sends. Large answers: a range of a file of 16 KB, 1 MB
and 8 MB between a small head and tail, against a bare blocking os.sendfile loop. Each server is a
process of its own; CPU is that process's user and system time. Best of the rounds; they are
interleaved.
"""

import argparse
import os
import select
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import anyio
import psutil

from broker_lite.control.clock import Clock
from broker_lite.handler.context import HandlerContext, ListenerInfo
from broker_lite.handler.table import NEVER_FLEXIBLE, Api
from broker_lite.log.files.open_file import FileSlice
from broker_lite.rate_limited_log import RateLimitedLog
from broker_lite.server.limits.client_shares import ClientShares
from broker_lite.server.limits.node_limits import Limits
from broker_lite.server.listener import ListenerAddress, Listeners
from broker_lite.server.node import Node
from broker_lite.server.pacing import accept_unpaced

REQUEST = struct.pack(">ihhih6s", 16, 0, 0, 1, 6, b"client")
ANSWER = bytes(26)
HEAD = bytes(60)
TAIL = bytes(3)
ANSWER_FRAME_BYTES = 8 + len(ANSWER)


class Figures(NamedTuple):
    """One round: requests a second, and the server's CPU."""

    per_second: float
    user_us: float
    system_us: float


def serve_node(port_out: Any, path: str, answer_bytes: int) -> None:
    """The server room with one handler that never waits."""
    fd = os.open(path, os.O_RDONLY) if path else -1
    parts = [HEAD, FileSlice(fd, 0, answer_bytes, None), TAIL] if path else [ANSWER]

    async def handle(context: Any, request: Any) -> Any:
        return parts

    apis = {0: Api("Echo", 0, 0, NEVER_FLEXIBLE, handle)}

    clock = Clock()
    client_log = RateLimitedLog(clock.monotonic_ms)

    def make_context(**addresses: Any) -> HandlerContext:
        anything: Any = None
        return HandlerContext(
            cluster=anything,
            groups=anything,
            transactions=anything,
            clock=anything,
            client_log=client_log,
            settings=anything,
            fetch_sessions=anything,
            lane=anything,
            apis=apis,
            node_id=1,
            **addresses,
        )

    async def main() -> None:
        listeners = Listeners()
        listeners.open([ListenerAddress(ListenerInfo("BENCH"), "127.0.0.1", 0)], backlog=5)
        [(_, port)] = listeners.addresses
        node = Node(
            listeners=listeners,
            apis=apis,
            make_context=make_context,
            get_limits=Limits,
            clock=clock,
            client_log=client_log,
            shares=ClientShares(Limits(), 10_000, client_log),
        )
        print(port, file=port_out, flush=True)
        await node.run()

    anyio.run(main, backend_options={"use_uvloop": True})


def serve_bare(port_out: Any, path: str, answer_bytes: int) -> None:
    """The least that Python can do: one client, no framing."""
    listener = socket.create_server(("127.0.0.1", 0))
    accept_unpaced(listener)  # as the node's own
    print(listener.getsockname()[1], file=port_out, flush=True)
    sock, _ = listener.accept()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    buffer = bytearray(4096)
    if not path:
        frame = bytes(ANSWER_FRAME_BYTES)
        poll = select.epoll()
        poll.register(sock, select.EPOLLIN)
        while True:
            poll.poll()
            if not sock.recv_into(buffer):
                return
            sock.send(frame)
    fd = os.open(path, os.O_RDONLY)
    head = bytes(8 + len(HEAD))
    while sock.recv_into(buffer):
        sock.send(head, socket.MSG_MORE)
        position = 0
        while position < answer_bytes:
            position += os.sendfile(sock.fileno(), fd, position, answer_bytes - position)


def measure(kind: str, path: str, answer_bytes: int, seconds: float) -> Figures:
    """Run one server and ask it as fast as it answers."""
    server = subprocess.Popen(
        [sys.executable, __file__, "--server", kind, "--path", path, "--bytes", str(answer_bytes)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    try:
        with socket.create_connection(("127.0.0.1", int(server.stdout.readline()))) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            expected = ANSWER_FRAME_BYTES
            if path:
                expected = 8 + len(HEAD) + answer_bytes + (len(TAIL) if kind == "node" else 0)
            buffer = bytearray(expected)

            def ask() -> None:
                sock.sendall(REQUEST)
                missing = expected
                while missing:
                    missing -= sock.recv_into(buffer, missing)

            return _ask_for(seconds, ask, psutil.Process(server.pid))
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def _ask_for(seconds: float, ask: Callable[[], None], server: psutil.Process) -> Figures:
    warm_until = time.perf_counter() + seconds / 4
    while time.perf_counter() < warm_until:
        ask()
    cpu, started, count = server.cpu_times(), time.perf_counter(), 0
    while (elapsed := time.perf_counter() - started) < seconds:
        ask()
        count += 1
    after = server.cpu_times()
    return Figures(
        count / elapsed,
        (after.user - cpu.user) / count * 1e6,
        (after.system - cpu.system) / count * 1e6,
    )


def main() -> None:
    """Measure, print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--server", choices=["node", "bare"])
    parser.add_argument("--path", default="")
    parser.add_argument("--bytes", type=int, default=0)
    options = parser.parse_args()
    if options.server:
        serve = {"node": serve_node, "bare": serve_bare}[options.server]
        serve(sys.stdout, options.path, options.bytes)
        return
    with tempfile.NamedTemporaryFile() as file:
        file.write(os.urandom(8 << 20))
        file.flush()
        cases = [("echo", "", 0)]
        cases += [(f"{size >> 10} KB", file.name, size) for size in (16 << 10, 1 << 20, 8 << 20)]
        print(f"{'case':8} {'server':6} {'req/s':>9} {'MB/s':>7} {'user us':>8} {'sys us':>8}")
        for name, path, size in cases:
            rounds: dict[str, list[Figures]] = {"bare": [], "node": []}
            for _ in range(options.rounds):
                for kind, figures in rounds.items():
                    figures.append(measure(kind, path, size, options.seconds))
            best = {kind: max(figures) for kind, figures in rounds.items()}
            for kind, row in best.items():
                print(
                    f"{name:8} {kind:6} {row.per_second:9.0f} {row.per_second * size / 1e6:7.0f}"
                    f" {row.user_us:8.1f} {row.system_us:8.1f}"
                )
            print(f"{name:8} throughput node : bare {best['node'][0] / best['bare'][0]:.2f}")


if __name__ == "__main__":
    main()
