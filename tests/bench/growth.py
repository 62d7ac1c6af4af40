"""What growth costs: partitions, idle connections, the size of the log; memory and start.

    python -m tests.bench.growth [--partitions 10000] [--log-gb 10]

A request must not cost more than 1.2 times as much when there is much more of everything else.
CPU is the broker's user and system time, the best of three rounds; memory is its resident set.
"""

import argparse
import resource
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.bytecode import write_bytecode
from tests.bench.load_client import (
    LoadClient,
    batch_of,
    create_topic,
    fetch_frame,
    measure,
    produce_frame,
)
from tests.support.broker_process import STOP_TIMEOUT_S, BrokerProcess

REQUESTS = 20_000
ROUNDS = 3
RATIO_MAX = 1.2
FILES_MAX = 1024
PARTITION_BYTES_MAX = 2_000
CONNECTION_BYTES_MAX = 30_000
START_MS_MAX = 250
RESTART_MS_MAX = 2_000
MEMORY_MB_MAX = 60
STOP_S_MAX = 1
# Version 0, correlation id 1, client id "a".
API_VERSIONS_REQUEST = bytes.fromhex("0000000b 0012 0000 00000001 0001 61")
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


def check(what: str, value: float, unit: str, bound: float) -> None:
    """Print a figure beside its bound."""
    mark = "ok" if value <= bound else "MISSED"
    print(f"{what}: {value:.4g} {unit}, at most {bound:g}: {mark}", flush=True)


def compare(what: str, before: float, after: float) -> None:
    """Print how the cost of a request has grown."""
    check(f"{what}, {before:.1f} -> {after:.1f} us", after / before, "times", RATIO_MAX)


def started(data_dir: Path) -> tuple[BrokerProcess, float]:
    """Start a broker; also the milliseconds from exec to the ready line, as seen from outside."""
    before = time.perf_counter()
    broker = BrokerProcess(data_dir).start()
    return broker, (time.perf_counter() - before) * 1000


def stop_s(broker: BrokerProcess, timeout_s: float = STOP_TIMEOUT_S) -> float:
    """Stop a broker; the seconds from SIGTERM to its end."""
    before = time.perf_counter()
    assert broker.stop(timeout_s) == 0
    return time.perf_counter() - before


def partitions(folder: Path, count: int) -> None:
    """One partition, then 10,000 beside it; their memory; all of them used in turn; stop, start."""
    broker, _ = started(folder)
    create_topic("127.0.0.1", broker.port, "one")
    produce, fetch = produce_and_fetch(broker, "one", 0)
    memory, before = resident_bytes(broker.pid), time.perf_counter()
    for index in range(10):
        create_topic("127.0.0.1", broker.port, f"many-{index}", count // 10)
    print(f"{count} partitions made in {time.perf_counter() - before:.1f} s")
    each = (resident_bytes(broker.pid) - memory) / count
    check("memory of a partition not in use", each, "bytes", PARTITION_BYTES_MAX)
    more = produce_and_fetch(broker, "one", 0)
    compare(f"produce, 1 -> {count} partitions", produce, more[0])
    compare(f"fetch, 1 -> {count} partitions", fetch, more[1])
    batch = batch_of(1, 88)
    frames = [produce_frame(f"many-{i % 10}", batch, partition=i // 10) for i in range(count)]
    before = time.perf_counter()
    client = LoadClient("127.0.0.1", broker.port)
    client.run(lambda index: frames[index], count, 1)
    client.close()
    each = (time.perf_counter() - before) / count * 1e6
    print(f"first produce to each of {count}: {each:.0f} us, with the files that it makes")
    spread = cpu_us(broker, lambda index: frames[index % count], REQUESTS)
    print(f"produce to all {count} in turn, {FILES_MAX} descriptors: {spread:.1f} us")
    print(f"stop with {count} logs that changed: {stop_s(broker):.2f} s", flush=True)
    broker, ready_ms = started(folder)
    each = (resident_bytes(broker.pid) - memory) / count
    print(
        f"start on {count} partitions that hold records: {ready_ms:.0f} ms, {each:.0f} bytes each"
    )
    stop_s(broker)


def connections(folder: Path, count: int) -> None:
    """One connection, then 1,000 idle ones beside it; the memory of those."""
    with BrokerProcess(folder) as broker:
        create_topic("127.0.0.1", broker.port, "one")
        produce, fetch = produce_and_fetch(broker, "one", 0)
        memory = resident_bytes(broker.pid)
        idle = []
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", broker.port), 10)
            connection.sendall(API_VERSIONS_REQUEST)
            assert connection.recv(4096)
            idle.append(connection)
        each = (resident_bytes(broker.pid) - memory) / count
        check("memory of an idle connection", each, "bytes", CONNECTION_BYTES_MAX)
        more = produce_and_fetch(broker, "one", 0)
        compare(f"produce, 1 -> {count} connections", produce, more[0])
        compare(f"fetch, 1 -> {count} connections", fetch, more[1])
        for connection in idle:
            connection.close()


def log_size(folder: Path, size_bytes: int) -> None:
    """A log of 1 MB, then one of 10 GB, in batches of 16 KB; fetches of one from its middle."""
    with BrokerProcess(folder) as broker:
        create_topic("127.0.0.1", broker.port, "log")
        batch = batch_of(16, 1000)
        frame = produce_frame("log", batch)
        small, large = (size // len(batch) for size in (1_000_000, size_bytes))
        client = LoadClient("127.0.0.1", broker.port)
        client.run(lambda _: frame, small, 1)
        produce, fetch = produce_and_fetch(broker, "log", small * 8)
        memory = resident_bytes(broker.pid)
        client.run(lambda _: frame, large, 3)
        client.close()
        what = f"1 MB -> {size_bytes / 1e9:g} GB"
        more = produce_and_fetch(broker, "log", large * 8)
        compare(f"produce, log of {what}", produce, more[0])
        compare(f"fetch from the middle of a log of {what}", fetch, more[1])
        grown = (resident_bytes(broker.pid) - memory) / 1e6
        print(f"memory of the broker grew by {grown:.1f} MB", flush=True)


def start(folder: Path) -> None:
    """The time from exec to the ready line, and the memory then; with 1,000 partitions too."""
    times, memory = [], 0
    for index in range(5):
        broker, ready_ms = started(folder / f"{index}")
        times.append(ready_ms)
        memory = max(memory, resident_bytes(broker.pid))
        stop_s(broker)
    check("start on an empty directory", min(times), "ms", START_MS_MAX)
    check("memory after the start", memory / 1e6, "MB", MEMORY_MB_MAX)
    with BrokerProcess(folder / "many") as broker:
        create_topic("127.0.0.1", broker.port, "many", 1000)
        client = LoadClient("127.0.0.1", broker.port)
        frames = [produce_frame("many", batch_of(1, 88), partition=i) for i in range(1000)]
        client.run(lambda index: frames[index], 1000, 1)
        client.close()
    broker, ready_ms = started(folder / "many")
    check("start on 1000 partitions after a clean stop", ready_ms, "ms", RESTART_MS_MAX)
    check("stop after that", stop_s(broker), "s", STOP_S_MAX)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=1_000)
    parser.add_argument("--log-gb", type=float, default=10)
    options = parser.parse_args()
    write_bytecode()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with tempfile.TemporaryDirectory(prefix="growth-") as name:
        folder = Path(name)
        for part in ("start", "connections", "size", "partitions"):
            (folder / part).mkdir()
        start(folder / "start")
        connections(folder / "connections" / "data", options.connections)
        log_size(folder / "size" / "data", int(options.log_gb * 1e9))
        shutil.rmtree(folder / "size")
        # the broker inherits the bound: 10,000 partitions must do with 1,024 open files
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES_MAX, hard))
        partitions(folder / "partitions" / "data", options.partitions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
