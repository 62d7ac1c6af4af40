"""What growth costs: partitions, idle connections, the size of the log; memory and start.

    python -m tests.bench.growth [--partitions 10000] [--log-gb 10]

A request must not cost more than 1.2 times as much when there is much more of everything else.
CPU is the broker's user and system time, the best of three rounds; memory is its resident set.
"""

import argparse
import resource
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.load_client import (
    LoadClient,
    batch_of,
    create_topic,
    fetch_frame,
    measure,
    produce_frame,
)
from tests.support.broker_process import BrokerProcess

REQUESTS = 20_000
ROUNDS = 3
RATIO_MAX = 1.2
FILES_MAX = 1024
_PAGE_BYTES = resource.getpagesize()


def resident_bytes(pid: int) -> int:
    """Resident set of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES


def cpu_us(broker: BrokerProcess, frame_at: Callable[[int], bytes], requests: int) -> float:
    """Broker CPU of one request, the best of three rounds after a warm-up."""
    client = LoadClient("127.0.0.1", broker.port)
    client.run(frame_at, requests // 4, 1)
    rounds = [
        measure(client, broker.pid, frame_at, requests=requests, in_flight=1, payload_bytes=1)
        for _ in range(ROUNDS)
    ]
    client.close()
    return min(r.cpu_us_per_request for r in rounds)


def produce_and_fetch(broker: BrokerProcess, topic: str, offset: int) -> tuple[float, float]:
    """CPU of a produce of one record, and of a fetch of it."""
    produce = produce_frame(topic, batch_of(1, 88))
    fetch = fetch_frame(topic, offset, 200)
    return (
        cpu_us(broker, lambda _: produce, REQUESTS),
        cpu_us(broker, lambda _: fetch, REQUESTS),
    )


def show(what: str, before: tuple[float, float], after: tuple[float, float]) -> None:
    """One line for each of produce and fetch."""
    for name, one, other in zip(("produce", "fetch"), before, after, strict=True):
        mark = "ok" if other / one <= RATIO_MAX else "MISSED"
        print(f"{what}: {name} {one:.1f} -> {other:.1f} us, x {other / one:.2f} {mark}", flush=True)


def partitions(folder: Path, count: int) -> None:
    """One partition, then 10,000 beside it; the memory of those; all of them used in turn."""
    with BrokerProcess(folder / "partitions") as broker:
        create_topic("127.0.0.1", broker.port, "one")
        before = produce_and_fetch(broker, "one", 0)
        memory, started = resident_bytes(broker.pid), time.perf_counter()
        for index in range(10):
            create_topic("127.0.0.1", broker.port, f"many-{index}", count // 10)
        seconds = time.perf_counter() - started
        each = (resident_bytes(broker.pid) - memory) / count
        print(f"{count} partitions made in {seconds:.1f} s, {each:.0f} bytes of memory each")
        show(f"1 -> {count} partitions", before, produce_and_fetch(broker, "one", 0))
        batch = batch_of(1, 88)
        frames = [produce_frame(f"many-{i % 10}", batch, partition=i // 10) for i in range(count)]
        spread = cpu_us(broker, lambda index: frames[index % count], REQUESTS)
        print(f"produce to all {count} in turn, open files bounded: {spread:.1f} us", flush=True)
    with BrokerProcess(folder / "partitions") as broker:
        again = (resident_bytes(broker.pid) - memory) / count
        print(
            f"restart on {count} partitions: ready in {broker.ready_ms} ms, {again:.0f} bytes each"
        )


def connections(folder: Path, count: int) -> None:
    """One connection, then 1,000 idle ones beside it; the memory of those."""
    with BrokerProcess(folder / "connections") as broker:
        create_topic("127.0.0.1", broker.port, "one")
        before = produce_and_fetch(broker, "one", 0)
        memory = resident_bytes(broker.pid)
        request = bytes.fromhex("0000000b001200000000000100016100")[:15]
        idle = []
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", broker.port), 10)
            connection.sendall(request)
            assert connection.recv(4096)
            idle.append(connection)
        each = (resident_bytes(broker.pid) - memory) / count
        print(f"{count} idle connections: {each:.0f} bytes of memory each", flush=True)
        show(f"1 -> {count} idle connections", before, produce_and_fetch(broker, "one", 0))
        for connection in idle:
            connection.close()


def log_size(folder: Path, size_bytes: int) -> None:
    """A log of 1 MB, then one of 10 GB; fetches from its middle."""
    with BrokerProcess(folder / "size") as broker:
        create_topic("127.0.0.1", broker.port, "log")
        batch = batch_of(1000, 1036)
        frame = produce_frame("log", batch)
        client = LoadClient("127.0.0.1", broker.port)
        client.run(lambda _: frame, 1, 1)
        before = produce_and_fetch(broker, "log", 500)
        memory = resident_bytes(broker.pid)
        count = size_bytes // len(batch)
        client.run(lambda _: frame, count, 3)
        client.close()
        show(f"1 MB -> {size_bytes / 1e9:g} GB", before, produce_and_fetch(broker, "log", 500))
        middle = count * 500
        _, fetch = produce_and_fetch(broker, "log", middle)
        print(f"fetch from the middle: {fetch:.1f} us")
        grown = (resident_bytes(broker.pid) - memory) / 1e6
        print(f"memory of the broker grew by {grown:.1f} MB", flush=True)


def start(folder: Path) -> None:
    """The time from exec to the ready line, and the memory then; with 1,000 partitions too."""
    times = []
    for index in range(5):
        with BrokerProcess(folder / f"start-{index}") as broker:
            times.append(broker.ready_ms)
            memory = resident_bytes(broker.pid)
    print(f"start on an empty directory: {min(times)} ms, {memory / 1e6:.1f} MB resident")
    with BrokerProcess(folder / "start-many") as broker:
        create_topic("127.0.0.1", broker.port, "many", 1000)
    with BrokerProcess(folder / "start-many") as broker:
        print(f"start on 1,000 partitions after a clean stop: {broker.ready_ms} ms", flush=True)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=1_000)
    parser.add_argument("--log-gb", type=float, default=10)
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with tempfile.TemporaryDirectory(prefix="growth-") as name:
        folder = Path(name)
        start(folder)
        connections(folder, options.connections)
        log_size(folder, int(options.log_gb * 1e9))
        # the broker inherits the bound: 10,000 partitions must do with 1,024 open files
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES_MAX, hard))
        partitions(folder, options.partitions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
