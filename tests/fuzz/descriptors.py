"""Clients that take descriptors and do not give them back, at a broker that may have 1,024.

    python -m tests.fuzz.descriptors --seed 1 --attacks 5000

Connections come, send a part of a request or several whole ones, and go: by a reset, by a close, or
after a while. Then more clients come than there are descriptors, and stay. All the time a
well-behaved client produces to partitions of many files in turns: no answer may be an error, the
log files always have their descriptors. Afterwards the broker has no descriptor more than before.
"""

import contextlib
import os
import random
import socket
import struct
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from broker_lite.rate_limited_log import LINES_MAX
from broker_lite.record.builder import BatchBuilder
from broker_lite.wire import messages
from tests.support.broker_process import BrokerProcess
from tests.support.command import seeded_main
from tests.support.raw_client import RawClient

LIMIT: Final = 1024
PARTITIONS: Final = 600
CALM_S_MAX: Final = 5.0
GONE_S_MAX: Final = 20.0
_PROGRAM: Final = ("sh", "-c", f'ulimit -n {LIMIT} && exec "$0" "$@"', sys.executable)
_TOPIC: Final = "files"
_PER_CHECK: Final = 20
_API_VERSIONS: Final = struct.pack(">ihhih", 10, 18, 0, 1, -1)
_ABANDONED: Final = "a client left and its descriptor stays"


@dataclass(slots=True)
class Findings:
    """What a run saw."""

    attacks: int = 0
    before: int = 0
    peak: int = 0
    after: int = 0
    checks: int = 0
    calm_s_max: float = 0.0
    faults: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """The figures of the run."""
        return (
            f"{self.attacks} attacks: descriptors {self.before} before, {self.peak} at the most, "
            f"{self.after} after; {self.checks} checks of the well-behaved client, the slowest "
            f"{self.calm_s_max:.2f} s, {len(self.faults)} faults"
        )


class ManyFiles:
    """Produces to one partition after the other, so that files have to be opened all the time."""

    def __init__(self, port: int, found: Findings) -> None:
        self._client = RawClient("127.0.0.1", port, timeout_s=20)
        self._found = found
        builder = BatchBuilder()
        builder.append(1_700_000_000_000, None, b"one of many")
        self._batch = bytes(builder.build())
        kind = messages.CreateTopicsRequest
        topic = kind.CreatableTopic(name=_TOPIC, num_partitions=PARTITIONS, replication_factor=1)
        self._client.request(kind, kind(topics=[topic], timeout_ms=10_000), 5)
        self._next = 0

    def check(self) -> None:
        """Produce to the next partitions; note what was wrong and how long it took."""
        kind = messages.ProduceRequest
        indexes = [(self._next + number) % PARTITIONS for number in range(_PER_CHECK)]
        self._next += _PER_CHECK
        data = [kind.PartitionProduceData(index=index, records=self._batch) for index in indexes]
        topic = kind.TopicProduceData(name=_TOPIC, partition_data=data)
        began = time.monotonic()
        answer = self._client.request(kind, kind(acks=1, timeout_ms=1000, topic_data=[topic]), 9)
        self._found.calm_s_max = max(self._found.calm_s_max, time.monotonic() - began)
        self._found.checks += 1
        codes = {each.error_code for each in answer.responses[0].partition_responses}
        if codes != {0}:
            self._found.faults.append(f"produce answered {codes}")

    def fill(self) -> None:
        """Produce to all partitions once."""
        for _ in range(0, PARTITIONS, _PER_CHECK):
            self.check()

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def count_descriptors(pid: int) -> int:
    """How many descriptors a process has."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def sockets_of(pid: int) -> int:
    """How many of them are sockets."""
    links = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(f"/proc/{pid}/fd/{name}"))
    return sum(link.startswith("socket:") for link in links)


def reset(sock: socket.socket) -> None:
    """Close a connection so that the other side is told of an error."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def _visit(port: int, choice: random.Random) -> None:
    """Come, send something, and go."""
    with socket.create_connection(("127.0.0.1", port), 20) as sock:
        data = _API_VERSIONS * choice.randrange(3)
        sock.sendall(data + _API_VERSIONS[: choice.randrange(len(_API_VERSIONS))])
        if data and choice.random() < 0.5:
            sock.recv(1)
        if choice.random() < 0.7:
            reset(sock)


@contextlib.contextmanager
def _crowd(port: int, count: int) -> Iterator[list[socket.socket]]:
    """Connect with more clients than there is room for; half of them with half a frame."""
    with contextlib.ExitStack() as stack:
        clients = []
        for number in range(count):
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", port), 20))
            if number % 2:
                sock.sendall(_API_VERSIONS[:5])
            clients.append(sock)
        yield clients


def _wait_until_gone(found: Findings, pid: int, sockets: int) -> None:
    deadline = time.monotonic() + GONE_S_MAX
    while sockets_of(pid) > sockets:
        if time.monotonic() > deadline:
            found.faults.append(f"{_ABANDONED}: {sockets_of(pid)} sockets, {sockets} before")
            return
        time.sleep(0.05)


def run(seed: int, attacks: int, folder: Path) -> Findings:
    """Let so many clients come and go, then a crowd that stays."""
    found, choice = Findings(attacks), random.Random(seed)
    program = (*_PROGRAM, "-m", "broker_lite")
    with BrokerProcess(folder / "data", program=program) as broker:
        calm = ManyFiles(broker.port, found)
        calm.fill()
        found.before, sockets = count_descriptors(broker.pid), sockets_of(broker.pid)
        for number in range(attacks):
            _visit(broker.port, choice)
            if number % 100 == 0:
                calm.check()
        _wait_until_gone(found, broker.pid, sockets)
        with _crowd(broker.port, LIMIT + 200):
            calm.fill()
            found.peak = count_descriptors(broker.pid)
        _wait_until_gone(found, broker.pid, sockets)
        calm.fill()
        found.after = count_descriptors(broker.pid)
        calm.close()
        _judge(found, broker.log)
    return found


def _judge(found: Findings, log: str) -> None:
    if found.peak > LIMIT - 20:
        found.faults.append(f"{found.peak} of {LIMIT} descriptors were in use")
    if found.after > found.before:
        found.faults.append(f"{found.after} descriptors are in use, {found.before} were before")
    if found.calm_s_max > CALM_S_MAX:
        found.faults.append(f"the well-behaved client waited for {found.calm_s_max:.1f} s")
    if (
        not 1 <= log.count("accepting no clients until") <= LINES_MAX
        or "accepting clients again" not in log
    ):
        found.faults.append("the log does not tell that nobody was accepted, and the end")
    found.faults += [line for line in log.splitlines() if "Traceback" in line]


def main() -> int:
    """Run from the command line."""
    return seeded_main(run, __doc__, count="attacks", default=5_000)


if __name__ == "__main__":
    sys.exit(main())
