"""What a flush per acknowledgement costs, against a bare loop of pwrite and fdatasync.

    python -m tests.bench.flush [--seconds 3] [--rounds 5] [--folder DIR]

The broker runs with log.flush.interval.messages=1: each Produce is answered when its batch is on
disk. Of it, wall time per acknowledged request with so many connections that each have one request
in flight; of the bare loop, wall time per iteration of one thread that appends the same bytes to a
file of the same disk and calls fdatasync. Both take turns, and the best of the rounds counts.

`cost` is the first over the second, and has to be at most 1.5 at 16 connections. One connection
alone cannot be below 1, as it waits for one fdatasync after the other; of many the cost is a
fraction of it, because those that wait share a flush. `CPU us` is what the broker's process takes
for a request, the median of the rounds.
"""

import argparse
import os
import platform
import selectors
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench.load_client import batch_of, cpu_s, create_topic, produce_frame
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient

COST_MAX: Final = 1.5
BOUND_CONNECTIONS: Final = 16
BATCHES: Final = ((1, 1000), (16, 1000))
"""Records and value bytes of a batch."""
_RESPONSE_MAX: Final = 1 << 16


class Case(NamedTuple):
    """A row: how many connections, on how many partitions, with what batch."""

    connections: int
    partitions: int
    batch: tuple[int, int]

    @property
    def name(self) -> str:
        """How the row is called."""
        records, value_bytes = self.batch
        where = "1 partition" if self.partitions == 1 else f"{self.partitions} partitions"
        return f"{self.connections} connections, {where}, {records} x {value_bytes} bytes"


class Round(NamedTuple):
    """Microseconds per acknowledged request: of the clock, and of the broker's CPU."""

    wall_us: float
    cpu_us: float


CASES: Final = (
    Case(1, 1, BATCHES[0]),
    Case(BOUND_CONNECTIONS, 1, BATCHES[0]),
    Case(BOUND_CONNECTIONS, 1, BATCHES[1]),
    Case(BOUND_CONNECTIONS, BOUND_CONNECTIONS, BATCHES[0]),
)


def bare_us(folder: Path, data: bytes, seconds: float) -> float:
    """Microseconds of one pwrite at the end of a file and one fdatasync."""
    path = folder / "bare"
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    try:
        os.fsync(descriptor)
        count, started = 0, time.perf_counter()
        while (passed := time.perf_counter() - started) < seconds:
            os.pwrite(descriptor, data, count * len(data))
            os.fdatasync(descriptor)
            count += 1
        return passed / count * 1e6
    finally:
        os.close(descriptor)
        path.unlink()


def served_us(broker: BrokerProcess, topic: str, case: Case, seconds: float) -> Round:
    """What an acknowledged request takes while all connections ask one after the other."""
    clients = [RawClient(broker.host, broker.port) for _ in range(case.connections)]
    data = batch_of(*case.batch)
    frames = [produce_frame(topic, data, partition=i) for i in range(case.partitions)]
    try:
        before_cpu_s, started = cpu_s(broker.pid), time.perf_counter()
        count = _ask(clients, frames, started + seconds)
        passed = time.perf_counter() - started
        return Round(passed / count * 1e6, (cpu_s(broker.pid) - before_cpu_s) / count * 1e6)
    finally:
        for client in clients:
            client.close()


def _ask(clients: Sequence[RawClient], frames: Sequence[bytes], until: float) -> int:
    """Send on each connection when it was answered; give how many answers there were."""
    with selectors.DefaultSelector() as selector:
        for index, client in enumerate(clients):
            frame = frames[index % len(frames)]
            selector.register(client.socket, selectors.EVENT_READ, (client.socket, frame))
            client.socket.sendall(frame)
        waiting, count = len(clients), 0
        while waiting:
            for key, _ in selector.select():
                connection, frame = key.data
                if not connection.recv(_RESPONSE_MAX):  # an answer is one segment on loopback
                    raise ConnectionError("the broker closed the connection")
                count += 1
                if time.perf_counter() < until:
                    connection.sendall(frame)
                else:
                    waiting -= 1
        return count


def run(folder: Path, seconds: float, rounds: int) -> bool:
    """Measure all cases; tell whether the bound holds."""
    head = (
        f"{'case':50} | {'bare us':>8} | {'us per ack':>10} | {'cost':>5} | {'CPU us':>6} | bound"
    )
    print(head)
    holds = True
    settings = ["log.flush.interval.messages=1"]
    with BrokerProcess(folder / "data", settings=settings) as broker:
        for number, case in enumerate(CASES):
            topic = f"flushed-{number}"
            create_topic(broker.host, broker.port, topic, case.partitions)
            data = batch_of(*case.batch)
            served_us(broker, topic, case, seconds / 3)
            bare, served = [], []
            for _ in range(rounds):
                bare.append(bare_us(folder, data, seconds))
                served.append(served_us(broker, topic, case, seconds))
            best = min(served)
            cost = best.wall_us / min(bare)
            bound = ""
            if case.connections == BOUND_CONNECTIONS:
                holds = holds and cost <= COST_MAX
                bound = f"{COST_MAX} {'ok' if cost <= COST_MAX else 'MISSED'}"
            cpu_us = statistics.median(each.cpu_us for each in served)
            print(
                f"{case.name:50} | {min(bare):8.0f} | {best.wall_us:10.0f} | {cost:5.2f} | "
                f"{cpu_us:6.0f} | {bound}",
                flush=True,
            )
    return holds


def main() -> int:
    """Run from the command line; the exit code is 1 when the bound is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="on the disk in question")
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        return 0 if run(Path(folder), options.seconds, options.rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
