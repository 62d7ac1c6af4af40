"""How long a broker answers nobody, as another client of it sees.

    with StallWatch(broker.port, broker.pid) as watch:
        ...
        stall = watch.lap()

A process of its own pings the broker without a pause, so that a busy test does not delay it. Two
figures are kept for the longest round trip:

- `wall_ms`: what a client would have waited. On a busy machine the broker, or the watch, may only
  have waited for a processor.
- `cpu_ms`: how long the broker's event loop was at work between a ping and its answer. It is the
  lower one, and no other process makes it larger: this is what a test can assert.

A loop that waits for a disk takes no processor time, so look at both.
"""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from select import select
from typing import Final, NamedTuple, Self, TypeVar

STALL_MS_MAX: Final = 50.0
"""No request that is accepted may hold the event loop for longer."""
TRIES: Final = 3
_PAUSE_S: Final = 0.001
_TIMEOUT_S: Final = 300
_Measured = TypeVar("_Measured")
# ApiVersions, version 0, correlation id 1, client id "a"
_PING: Final = bytes.fromhex("0000000b 0012 0000 00000001 0001 61")


class Stall(NamedTuple):
    """The longest round trip of some time, in each measure; the two may be of different pings."""

    wall_ms: float
    cpu_ms: float
    pings: int

    def longest(self, other: "Stall") -> "Stall":
        """The longest of two times together."""
        return Stall(
            max(self.wall_ms, other.wall_ms),
            max(self.cpu_ms, other.cpu_ms),
            self.pings + other.pings,
        )

    def __str__(self) -> str:
        """Say both figures."""
        return f"{self.wall_ms:.0f} ms ({self.cpu_ms:.0f} ms of the broker's processor time)"


NO_STALL: Final = Stall(0.0, 0.0, 0)
"""Of no time at all."""


def until_calm(
    measure: Callable[[int], _Measured], stall_ms: Callable[[Sequence[_Measured]], float]
) -> list[_Measured]:
    """Measure again while the stall is too long, at most three times in all.

    On a host that is shared, time that the host takes counts as the broker's processor time. It
    only adds to a stall: one that the broker makes itself comes each time.

    Args:
        measure: gets the number of the try, from 0.
        stall_ms: the stall that counts after some tries, the least one.

    Returns:
        What each try gave.
    """
    tries: list[_Measured] = []
    while len(tries) < TRIES and (not tries or stall_ms(tries) > STALL_MS_MAX):
        tries.append(measure(len(tries)))
    return tries


class StallWatch:
    """Watches from enter to exit; a context manager."""

    def __init__(self, port: int, pid: int) -> None:
        """Watch nothing yet.

        Args:
            port: of the broker, on the loopback.
            pid: of its process.
        """
        self._command = [sys.executable, "-m", __name__, str(port), str(pid)]
        self._process: subprocess.Popen[str] | None = None

    def lap(self) -> Stall:
        """The longest stall since the last call; one that goes on is waited for.

        Raises:
            RuntimeError: the broker has closed the watch's connection, or did not answer it.
        """
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write("\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise RuntimeError("the broker does not answer the stall watch any more")
        return Stall(*json.loads(line))

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.lap()  # from now on it pings
        return self

    def __exit__(self, *_: object) -> None:
        process = self._process
        assert process is not None
        process.communicate()
        self._process = None


def loop_cpu_ms(pid: int) -> float:
    """The processor time of a process's first thread, which runs the event loop."""
    text = Path(f"/proc/{pid}/task/{pid}/schedstat").read_text("ascii")
    return int(text.split()[0]) / 1e6


def ping(sock: socket.socket) -> None:
    """Ask and wait for the answer.

    Raises:
        EOFError: there is none.
        OSError: the same, or it takes too long.
    """
    sock.sendall(_PING)
    missing = int.from_bytes(_receive(sock, 4), "big")
    _receive(sock, missing)


def _receive(sock: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        chunk = sock.recv(count - len(data))
        if not chunk:
            raise EOFError
        data += chunk
    return data


def longest(
    ask: Callable[[], None], cpu_ms: Callable[[], float], is_asked: Callable[[], bool]
) -> Stall:
    """Ping until somebody asks how it was.

    Args:
        ask: one round trip.
        cpu_ms: the broker's processor time so far.
        is_asked: whether somebody wants to know; it is asked after each round trip.
    """
    wall_ms_max = cpu_ms_max = 0.0
    pings = 0
    before_ms = cpu_ms()
    while True:
        began = time.perf_counter()
        ask()
        wall_ms = (time.perf_counter() - began) * 1000
        after_ms = cpu_ms()
        wall_ms_max = max(wall_ms_max, wall_ms)
        # the broker also works in the pauses: more than the round trip is not of this ping
        cpu_ms_max = max(cpu_ms_max, min(after_ms - before_ms, wall_ms))
        pings += 1
        if is_asked():
            return Stall(wall_ms_max, cpu_ms_max, pings)
        before_ms = cpu_ms()


def main() -> None:
    """Watch a broker until standard input ends; a line there asks for the longest stall."""
    port, pid = int(sys.argv[1]), int(sys.argv[2])

    def is_asked() -> bool:
        return bool(select([sys.stdin], [], [], _PAUSE_S)[0])

    with socket.create_connection(("127.0.0.1", port), _TIMEOUT_S) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            stall = longest(lambda: ping(sock), lambda: loop_cpu_ms(pid), is_asked)
            if not sys.stdin.readline():
                return
            print(json.dumps(stall), flush=True)


if __name__ == "__main__":
    try:
        main()
    except (EOFError, OSError, KeyboardInterrupt) as end:
        sys.exit(f"the stall watch ends: {end!r}")
