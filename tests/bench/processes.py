"""What several processes bring and cost: throughput, CPU per request, start, memory, forwarding.

    python -m tests.bench.processes [--counts 1,2,4] [--scale 1] [--rounds 3] [--cases gzip]
    python -m tests.bench.processes --plan

Each process is pinned to a CPU of its own, as long as there are any. The clients are four processes
that spread over the brokers, each with one connection and five requests in flight; nobody pins
them. CPU is that of all broker processes, user and system. `busy` is the share of the time for
which a process of the broker runs, on average. The rounds of the different counts take turns, and
the best of each counts. Where the clients need as much CPU as the broker, and there are no CPUs for
them, more processes cannot be faster: then CPU per request says what more CPUs would bring.
`--plan` measures the parts that grow with the number of processes.
"""

import argparse
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from broker_lite.record.builder import BatchBuilder
from broker_lite.wire import messages
from tests.bench.load_client import (
    LoadClient,
    batch_of,
    cpu_s,
    fetch_frame,
    produce_frame,
)
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient

CLIENTS: Final = 4
IN_FLIGHT: Final = 5
MIB: Final = 1 << 20
MIDDLE: Final = (150, 99)  # 16 KB
LARGE: Final = (1000, 1036)  # 1 MB
HOST: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row of the table; `max_bytes` 0 is a produce.

    With `compression.type` the broker has much more to do than the clients.
    """

    name: str
    batch: tuple[int, int]
    requests: int
    max_bytes: int = 0
    configs: tuple[tuple[str, str], ...] = ()
    is_text: bool = False

    def made_batch(self) -> bytes:
        """The batch of its requests; text can be compressed by half, other values by nearly all."""
        if not self.is_text:
            return batch_of(*self.batch)
        chance, builder = random.Random(1), BatchBuilder()
        for _ in range(self.batch[0]):
            builder.append(0, None, chance.randbytes(self.batch[1] // 2).hex().encode())
        return builder.build()


SYNTHETIC: Final = (("broker.lite.load.mode", "synthetic"),)
CASES: Final = (
    Case(
        name="produce 64 KB, gzip",
        batch=(600, 99),
        requests=2_500,
        configs=(("compression.type", "gzip"),),
        is_text=True,
    ),
    Case(name="produce 100 B", batch=(1, 88), requests=30_000),
    Case(name="produce 16 KB", batch=MIDDLE, requests=15_000),
    Case(name="produce 1 MB", batch=LARGE, requests=400),
    Case(name="fetch 16 KB", batch=MIDDLE, requests=15_000, max_bytes=17_000),
    Case(name="fetch 1 MB", batch=LARGE, requests=1_500, max_bytes=MIB, configs=SYNTHETIC),
)


@dataclass(frozen=True, slots=True)
class Round:
    """What one round took."""

    requests: int
    seconds: float
    cpu_s: float
    processes: int

    @property
    def per_s(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds

    @property
    def cpu_us(self) -> float:
        """CPU of all broker processes for a request."""
        return self.cpu_s / self.requests * 1e6

    @property
    def busy(self) -> float:
        """The share of the time for which a broker process runs."""
        return self.cpu_s / self.seconds / self.processes


class Cluster:
    """A broker of some processes, each on its own CPU."""

    def __init__(self, folder: Path, count: int) -> None:
        self.count = count
        arguments = ["--processes", str(count)] if count > 1 else []
        self._broker = BrokerProcess(folder / f"of-{count}", arguments=arguments)
        self._broker.start()
        self.ready_ms = self._broker.ready_ms
        self._first_port = self._broker.port
        self.ports = [self._first_port]
        if count > 1:
            with RawClient(HOST, self._first_port) as client:
                told = client.call("Metadata", 1, topics=[])
            self.ports = [one.port for one in sorted(told.brokers, key=lambda one: one.node_id)]
        first = psutil.Process(self._broker.pid)
        self.processes = [first, *sorted(_further(first), key=lambda one: one.name())]
        cpus = sorted(os.sched_getaffinity(0))
        for number, process in enumerate(self.processes):
            process.cpu_affinity([cpus[number % len(cpus)]])

    def cpu_s(self) -> float:
        """CPU of all processes since their starts."""
        return sum(cpu_s(process.pid) for process in self.processes)

    def memory_bytes(self) -> list[int]:
        """What each process has for itself."""
        return [process.memory_full_info().uss for process in self.processes]

    def create(self, case: Case) -> str:
        """Make a topic with a partition for each client, spread over the brokers."""
        kind = messages.CreateTopicsRequest
        name = "".join(each if each.isalnum() else "-" for each in case.name)
        topic = kind.CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                kind.CreatableReplicaAssignment(
                    partition_index=index, broker_ids=[1 + index % self.count]
                )
                for index in range(CLIENTS)
            ],
            configs=[kind.CreatableTopicConfig(name=key, value=text) for key, text in case.configs],
        )
        with RawClient(HOST, self.ports[0], timeout_s=60) as client:
            answer = client.call("CreateTopics", 5, topics=[topic], timeout_ms=60_000)
        assert answer.topics[0].error_code == 0, answer
        return name

    def run(self, case: Case, topic: str, requests: int) -> Round:
        """Let all clients send their part at the same time."""
        share = max(requests // CLIENTS, IN_FLIGHT)
        clients = [
            _client(self.ports[index % self.count], topic, index, case, share)
            for index in range(CLIENTS)
        ]
        for client in clients:
            assert client.stdout is not None
            assert client.stdout.readline() == b"ready\n"
        before_s, began_s = self.cpu_s(), time.perf_counter()
        for client in clients:
            assert client.stdin is not None
            client.stdin.close()
        for client in clients:
            assert client.wait() == 0
        seconds = time.perf_counter() - began_s
        return Round(share * CLIENTS, seconds, self.cpu_s() - before_s, self.count)

    def stop(self) -> None:
        """End all processes."""
        self._broker.stop()


def _client(port: int, topic: str, partition: int, case: Case, requests: int) -> "Popen":
    words = ["client", port, topic, partition, case.name, requests]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.bench.processes", *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def _further(first: psutil.Process) -> list[psutil.Process]:
    return [one for one in first.children() if one.name().startswith("broker-lite ")]


Popen = subprocess.Popen[bytes]


def client_main(words: Sequence[str]) -> int:
    """Be one client: connect, wait for the end of standard input, send all requests."""
    port, topic, partition, name, requests = words
    case = next(each for each in CASES if each.name == name)
    index = int(partition)
    frames = [produce_frame(topic, case.made_batch(), partition=index)]
    if case.max_bytes:
        if not case.configs:
            filler = LoadClient(HOST, int(port))
            filler.run(lambda _: frames[0], 500, IN_FLIGHT)
            filler.close()
        frames = [
            fetch_frame(topic, number * case.batch[0], case.max_bytes, partition=index)
            for number in range(400)
        ]
    client = LoadClient(HOST, int(port))
    client.run(lambda number: frames[number % len(frames)], IN_FLIGHT, IN_FLIGHT)
    print("ready", flush=True)
    sys.stdin.read()
    client.run(lambda number: frames[number % len(frames)], int(requests), IN_FLIGHT)
    client.close()
    return 0


def compare(clusters: Sequence[Cluster], case: Case, scale: float, rounds: int) -> None:
    """Print one case: the best rounds of each count, and their ratio to the first one."""
    topics = [cluster.create(case) for cluster in clusters]
    requests = max(int(case.requests * scale), CLIENTS * IN_FLIGHT)
    found: list[list[Round]] = [[] for _ in clusters]
    for _ in range(rounds + 1):  # the first one warms up
        for number, cluster in enumerate(clusters):
            found[number].append(cluster.run(case, topics[number], requests))
    best_per_s = [max(one.per_s for one in each[1:]) for each in found]
    best_cpu = [min(one.cpu_us for one in each[1:]) for each in found]
    for cluster, each, per_s, cpu in zip(clusters, found, best_per_s, best_cpu, strict=True):
        busy = max(one.busy for one in each[1:])
        print(
            f"{case.name:20} {cluster.count:2} processes {per_s:9,.0f}/s"
            f" {per_s / best_per_s[0]:5.2f} times  CPU {cpu:8.1f} us"
            f" {cpu / best_cpu[0]:5.2f} times  busy {busy:4.0%}",
            flush=True,
        )


def timed(count: int, what: Callable[[], object]) -> float:
    """Return how many microseconds one call takes on average."""
    began_s = time.perf_counter()
    for _ in range(count):
        what()
    return (time.perf_counter() - began_s) / count * 1e6


def plan(folder: Path, counts: Sequence[int]) -> None:
    """Print what grows with the number of processes."""
    for count in counts:
        cluster = Cluster(folder, count)
        uss = [size / MIB for size in cluster.memory_bytes()]
        print(
            f"{count:2} processes: ready in {cluster.ready_ms} ms; memory of its own:"
            f" {uss[0]:.0f} MB the first, {max(uss[1:], default=0):.0f} MB each other one",
            flush=True,
        )
        if count > 1:
            _forwarding(cluster)
            _feed(cluster)
        cluster.stop()


def _forwarding(cluster: Cluster) -> None:
    """Print what a request costs that another process than the first one has received."""
    for number, port in enumerate(cluster.ports[:2], 1):
        with RawClient(HOST, port) as client:
            client.call("Metadata", 9, topics=[])
            before_s = cluster.cpu_s()
            took_us = timed(2000, lambda client=client: client.call("Metadata", 9, topics=[]))
            spent_us = (cluster.cpu_s() - before_s) / 2000 * 1e6
            print(f"   Metadata at broker {number}: {took_us:.0f} us, CPU {spent_us:.0f} us")


def _feed(cluster: Cluster) -> None:
    """Print what a new partition costs in each process."""
    kind = messages.CreateTopicsRequest
    before = [cpu_s(process.pid) for process in cluster.processes]
    with RawClient(HOST, cluster.ports[0], timeout_s=120) as client:
        for number in range(5):
            topic = kind.CreatableTopic(
                name=f"many-{number}", num_partitions=4000, replication_factor=1
            )
            client.call("CreateTopics", 5, topics=[topic], timeout_ms=60_000)
    _settle(cluster)
    spent = [
        (cpu_s(process.pid) - began) / 20_000 * 1e6
        for process, began in zip(cluster.processes, before, strict=True)
    ]
    print(
        f"   a partition of {cluster.count} processes: CPU {spent[0]:.0f} us in the first,"
        f" {sum(spent[1:]) / len(spent[1:]):.0f} us in each other one"
    )


def _settle(cluster: Cluster) -> None:
    """Wait until no process has anything to do."""
    last_s = -1.0
    while (now_s := cluster.cpu_s()) - last_s > 0.02:
        last_s = now_s
        time.sleep(0.5)


def main() -> int:
    """Run from the command line."""
    if sys.argv[1:2] == ["client"]:
        return client_main(sys.argv[2:])
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--counts", default="1,2", help="numbers of processes")
    parser.add_argument("--scale", type=float, default=1.0, help="requests per round, relative")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", default="", help="only cases whose name holds this")
    parser.add_argument("--plan", action="store_true", help="start, memory, forwarding, metadata")
    options = parser.parse_args()
    counts = [int(each) for each in options.counts.split(",")]
    print(f"{len(os.sched_getaffinity(0))} CPUs, Python {platform.python_version()}", flush=True)
    with tempfile.TemporaryDirectory(prefix="processes-") as name, ExitStack() as stack:
        if options.plan:
            plan(Path(name), counts)
            return 0
        clusters = [Cluster(Path(name), count) for count in counts]
        for cluster in clusters:
            stack.callback(cluster.stop)
        for case in CASES:
            if options.cases in case.name:
                compare(clusters, case, options.scale, options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
