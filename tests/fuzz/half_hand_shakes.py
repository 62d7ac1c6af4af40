"""Clients that begin a TLS hand-shake and do not end it: memory, descriptors, and who waits.

    python -m tests.fuzz.half_hand_shakes --clients 5000

In each phase so many clients come and stay: they say nothing, send a part of their first record,
send all of it and leave the answer unread, shake hands and do not authenticate, or shake hands and
send a request a byte at a time, each in a TLS record of its own. Then one that shakes hands as it
should has to be served. When all have gone, the broker has no descriptor more
than before, and has logged no traceback.
"""

import argparse
import contextlib
import os
import socket
import ssl
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil

from broker_lite.server.security.hand_shakes import AT_ONCE_MAX
from tests.bench.growth import resident_bytes
from tests.support.broker_process import BrokerProcess
from tests.support.certificates import Certificates, write_certificates
from tests.support.reference_kafka import free_port
from tests.support.stall_watch import STALL_MS_MAX, Stall, StallWatch, until_calm

BYTES_MAX: Final = 40_000
"""Of memory for a connection whose client has not authenticated."""
BYTES_MAX_OF_BEGUN: Final = 80_000
"""For one whose hand-shake has begun; at most hand_shakes.AT_ONCE_MAX are so at the same time."""
PHASES: Final = ("plain", "silent", "cut", "unread", "unknown", "slow")
_SETTLED_S: Final = 60.0
_MOMENT_S: Final = 0.3
# The pings of the watch take some of it: a thousand a second.
_QUIET_SHARE: Final = 0.25
_FIRST: Final = 50
# How often each slow client sends its next byte.
_BYTE_S: Final = 2.0
_WHO: Final = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_a="b";'


@dataclass(slots=True)
class Findings:
    """What a run saw.

    Attributes:
        phases: bytes for a connection of each phase, and how long another client waited.
    """

    phases: dict[str, tuple[int, Stall]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """The figures of the run."""
        lines = [
            f"{name}: {size / 1000:.1f} KB a connection, the longest stall {stall}"
            for name, (size, stall) in self.phases.items()
        ]
        return "\n".join([*lines, f"{len(self.faults)} faults"])


class Clients:
    """Clients of one broker, whose listeners are plain, and SASL over TLS.

    Attributes:
        port: of the listener with TLS.
    """

    def __init__(self, plain_port: int, port: int, files: Certificates) -> None:
        self._plain_port = plain_port
        self.port = port
        self._context = ssl.create_default_context(cafile=files.ca)
        self._hello = self._first_record()
        self._slow: list[socket.socket] = []

    def plain(self) -> socket.socket:
        """Connect to the plain listener."""
        return socket.create_connection(("127.0.0.1", self._plain_port), _SETTLED_S)

    def silent(self) -> socket.socket:
        """Connect and say nothing."""
        return socket.create_connection(("127.0.0.1", self.port), _SETTLED_S)

    def cut(self) -> socket.socket:
        """Send a part of the first record."""
        sock = self.silent()
        sock.sendall(self._hello[:100])
        return sock

    def unread(self) -> socket.socket:
        """Send the first record, and leave the answer unread."""
        sock = self.silent()
        sock.sendall(self._hello)
        return sock

    def unknown(self) -> socket.socket:
        """Shake hands, and do not authenticate."""
        sock = self._context.wrap_socket(self.silent(), server_hostname="localhost")
        sock.sendall(b"\0\0\1\0")
        return sock

    def slow(self) -> socket.socket:
        """Shake hands, and leave it to drip() to send the rest of a request."""
        sock = self.unknown()
        self._slow.append(sock)
        return sock

    @contextlib.contextmanager
    def drip(self) -> Iterator[None]:
        """Have all slow clients send a byte each, now and then."""
        ended = threading.Event()

        def send() -> None:
            while not ended.wait(_BYTE_S):
                for sock in [*self._slow]:
                    with contextlib.suppress(OSError):  # it has gone meanwhile
                        sock.sendall(b"\0")

        thread = threading.Thread(target=send)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self._slow.clear()

    def _first_record(self) -> bytes:
        sent = ssl.MemoryBIO()
        wrapped = self._context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="localhost")
        with contextlib.suppress(ssl.SSLWantReadError):
            wrapped.do_handshake()
        return sent.read()


@contextlib.contextmanager
def broker(folder: Path) -> Iterator[tuple[BrokerProcess, Clients]]:
    """A broker with a plain listener and one of SASL over TLS."""
    files = write_certificates(folder)
    plain, secured = free_port(), free_port()
    settings = [
        f"listeners=PLAINTEXT://127.0.0.1:{plain},SASL_SSL://127.0.0.1:{secured}",
        "sasl.enabled.mechanisms=PLAIN",
        f"listener.name.sasl_ssl.plain.sasl.jaas.config={_WHO}",
        "ssl.keystore.type=PEM",
        f"ssl.keystore.location={files.server}",
    ]
    with BrokerProcess(folder / "data", settings=settings, port=plain) as running:
        yield running, Clients(plain, secured, files)


def descriptors(pid: int) -> int:
    """How many descriptors a process has."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def _until(condition: Callable[[], bool], seconds: float = _SETTLED_S) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _is_connected(pid: int, port: int) -> bool:
    """Whether a process has a connection at a port of its own."""
    found = psutil.Process(pid).net_connections("tcp")
    return any(each.laddr.port == port and each.status != psutil.CONN_LISTEN for each in found)


def _measured(running: BrokerProcess, connect: Callable[[], socket.socket], count: int) -> int:
    """How many bytes one more of many connections takes, after the first ones."""
    idle, before = descriptors(running.pid), 0
    with contextlib.ExitStack() as stack:
        for index in range(_FIRST + count):
            stack.enter_context(connect())
            if index + 1 in (_FIRST, _FIRST + count):
                _until(lambda: descriptors(running.pid) >= idle + index + 1)  # noqa: B023
                _until(lambda: _is_quiet(running.pid))
                before = before or resident_bytes(running.pid)
        return (resident_bytes(running.pid) - before) // count


def _is_quiet(pid: int) -> bool:
    """Whether a process uses little of a processor for a moment; pings are always answered."""

    def ticks() -> int:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    before = ticks()
    time.sleep(_MOMENT_S)
    return ticks() - before <= _QUIET_SHARE * _MOMENT_S * os.sysconf("SC_CLK_TCK")


def run(folder: Path, clients_count: int, phases: Sequence[str] = PHASES) -> Findings:
    """Have that many clients in each phase, at a broker of its own.

    Very many that leave at once take a moment each, on a plain listener, too: there is no bound for
    how long they hold another client.
    """
    found = Findings()
    for phase in phases:

        def one_phase(number: int, phase: str = phase) -> Stall:
            own = folder / f"{phase}-{number}"
            own.mkdir()
            return _one_phase(own, phase, clients_count, found)

        tries = until_calm(
            one_phase,
            lambda tries: (
                min(each.cpu_ms for each in tries) if clients_count <= AT_ONCE_MAX else 0.0
            ),
        )
        stall = min(tries, key=lambda each: each.cpu_ms)
        found.phases[phase] = found.phases[phase][0], stall
        if clients_count <= AT_ONCE_MAX and stall.cpu_ms > STALL_MS_MAX:
            found.faults.append(f"{phase}: another client waited for {stall} each time")
    return found


def _one_phase(folder: Path, phase: str, count: int, found: Findings) -> Stall:
    with broker(folder) as (running, clients):
        clients.unknown().close()
        # while the broker has it, it counts as one of those that stay
        if not _until(lambda: not _is_connected(running.pid, clients.port)):
            found.faults.append(f"{phase}: a connection stays that its client has closed")
        stall = _look(running, clients, phase, count, found)
        if "Traceback" in running.log:
            found.faults.append(running.log[-2000:])
    return stall


def _look(
    running: BrokerProcess, clients: Clients, phase: str, count: int, found: Findings
) -> Stall:
    idle = descriptors(running.pid)
    with StallWatch(running.port, running.pid) as watch:
        with clients.drip():
            size = _measured(running, getattr(clients, phase), count)
        clients.unknown().close()
        if not _until(lambda: descriptors(running.pid) <= idle + 1):
            found.faults.append(f"{phase}: descriptors do not come back")
        stall = watch.lap()
    found.phases[phase] = size, stall
    begun = min(count, AT_ONCE_MAX) if phase == "unread" else 0
    if size * count > BYTES_MAX * (count - begun) + BYTES_MAX_OF_BEGUN * begun:
        found.faults.append(f"{phase}: a connection takes {size} bytes")
    return stall


def main() -> int:
    """Run it, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clients", type=int, default=5000)
    parser.add_argument("--phase", choices=PHASES, action="append", dest="phases")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = run(Path(folder), options.clients, options.phases or PHASES)
    print(found.summary(), *found.faults, sep="\n")
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
