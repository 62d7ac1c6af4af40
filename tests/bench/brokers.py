"""What a large cluster costs: 100 brokers in one process, 1,000 partitions of three replicas.

    python -m tests.bench.brokers [--brokers 100] [--partitions 1000]

A request must not cost more than 1.2 times as much as with one broker and one partition,
which is measured in the same run. Three brokers are ready within 300 ms, in 50 MB. Nothing may hold
the event loop for more than 50 ms: neither a Metadata request for all topics, nor the end of a
broker that leads a hundredth of the partitions.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

from broker_lite.testing import Broker
from broker_lite.wire import messages
from tests.bench.bytecode import write_bytecode
from tests.bench.growth import (
    REQUESTS,
    check,
    compare,
    cpu_us,
    resident_bytes,
    stop_s,
)
from tests.bench.load_client import (
    LoadClient,
    batch_of,
    create_topic,
    fetch_frame,
    produce_frame,
)
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient
from tests.support.stall_watch import STALL_MS_MAX, StallWatch

TOPIC: Final = "many"
METADATA_VERSION: Final = 12
METADATA_ROUNDS: Final = 20
START_MS_MAX: Final = 1_000
FEW: Final = 3
FEW_START_MS_MAX: Final = 300
FEW_MEMORY_MB_MAX: Final = 50
START_ROUNDS: Final = 7
MEMORY_MB_MAX: Final = 100
STOP_S_MAX: Final = 2
_HOST: Final = "127.0.0.1"


def started(data_dir: Path, brokers: int) -> tuple[BrokerProcess, float]:
    """Start a cluster; also the milliseconds from exec to the ready line."""
    before = time.perf_counter()
    broker = BrokerProcess(data_dir, arguments=["--brokers", str(brokers)]).start()
    return broker, (time.perf_counter() - before) * 1000


def ask_all(port: int) -> Any:
    """Ask for the metadata of all topics; the brokers with their ports, and who leads what."""
    kind = messages.MetadataRequest
    with RawClient(_HOST, port, timeout_s=60) as client:
        return client.request(kind, kind(topics=None), METADATA_VERSION)


def create(port: int, partitions: int) -> float:
    """Create a topic of three replicas; the seconds until all partitions have leaders."""
    kind = messages.CreateTopicsRequest
    topic = kind.CreatableTopic(name=TOPIC, num_partitions=partitions, replication_factor=3)
    before = time.perf_counter()
    with RawClient(_HOST, port, timeout_s=120) as client:
        answer = client.request(kind, kind(topics=[topic], timeout_ms=100_000), 5)
    assert answer.topics[0].error_code == 0, answer
    return time.perf_counter() - before + until_led(port)


def until_led(port: int, gone: int = -1) -> float:
    """Wait until all partitions have leaders other than a broker; return the seconds."""
    before = time.perf_counter()
    while any(each.leader_id in (-1, gone) for each in ask_all(port).topics[0].partitions):
        pass
    return time.perf_counter() - before


def cpu_of_both(broker: BrokerProcess, port: int, topic: str) -> tuple[float, float]:
    """CPU of a Produce of one record to partition 0, and of a Fetch of it.

    Args:
        broker: the process.
        port: of the broker that leads the partition.
        topic: of the partition.
    """
    produce, fetch = produce_frame(topic, batch_of(1, 88)), fetch_frame(topic, 0, 200)
    frames: tuple[Callable[[int], bytes], ...] = (lambda _: produce, lambda _: fetch)
    first, broker.port = broker.port, port
    costs = [cpu_us(broker, frame_at, REQUESTS) for frame_at in frames]
    broker.port = first
    return costs[0], costs[1]


def metadata(broker: BrokerProcess) -> None:
    """The time of a Metadata request for all topics, and how long it holds the loop."""
    with StallWatch(broker.port, broker.pid) as watch:
        watch.lap()
        times_ms = []
        for _ in range(METADATA_ROUNDS):
            before = time.perf_counter()
            ask_all(broker.port)
            times_ms.append((time.perf_counter() - before) * 1000)
        stall = watch.lap()
    print(f"Metadata for all topics, with the client's decoding: {min(times_ms):.1f} ms")
    check("Metadata for all topics holds the loop", stall.cpu_ms, "ms", STALL_MS_MAX)


def start(folder: Path) -> None:
    """Start one broker and a few, in turns: neither time nor memory may tell them apart."""
    for brokers in (1, FEW):
        times_ms, memory_mb = [], 0.0
        for number in range(START_ROUNDS):
            broker, ready_ms = started(folder / f"{brokers} {number}", brokers)
            times_ms.append(ready_ms)
            memory_mb = max(memory_mb, resident_bytes(broker.pid) / 1e6)
            stop_s(broker)
        check(f"start of {brokers}, median", median(times_ms), "ms", FEW_START_MS_MAX)
        check(f"memory of {brokers}", memory_mb, "MB", FEW_MEMORY_MB_MAX)


def requests(folder: Path, brokers: int, partitions: int) -> None:
    """Start, memory, requests and stop, beside those of one broker."""
    single, _ = started(folder / "one", 1)
    create_topic(_HOST, single.port, TOPIC)
    alone = cpu_of_both(single, single.port, TOPIC)
    stop_s(single)
    broker, ready_ms = started(folder / "many", brokers)
    check(f"start of {brokers} brokers", ready_ms, "ms", START_MS_MAX)
    print(f"memory after the start: {resident_bytes(broker.pid) / 1e6:.1f} MB")
    with StallWatch(broker.port, broker.pid) as watch:
        watch.lap()
        seconds = create(broker.port, partitions)
        stall = watch.lap()
    print(f"{partitions} partitions of 3 replicas made in {seconds:.2f} s")
    check("their creation holds the loop", stall.cpu_ms, "ms", STALL_MS_MAX)
    check("memory then", resident_bytes(broker.pid) / 1e6, "MB", MEMORY_MB_MAX)
    found = ask_all(broker.port)
    ports = {each.node_id: each.port for each in found.brokers}
    leader = found.topics[0].partitions[0].leader_id
    among_many = cpu_of_both(broker, ports[leader], TOPIC)
    what = f"1 broker, 1 partition -> {brokers} brokers, {partitions} partitions"
    compare(f"produce, {what}", alone[0], among_many[0])
    compare(f"fetch, {what}", alone[1], among_many[1])
    metadata(broker)
    check("stop", stop_s(broker), "s", STOP_S_MAX)
    broker, ready_ms = started(folder / "many", brokers)
    check(f"start on {partitions} partitions", ready_ms, "ms", START_MS_MAX)
    check("stop after that", stop_s(broker), "s", STOP_S_MAX)


def fill(cluster: Broker) -> None:
    """Write a record to each partition, so that the broker has all logs in use."""
    found = ask_all(cluster.port)
    ports = {each.node_id: each.port for each in found.brokers}
    batch = batch_of(1, 88)
    for node_id, port in ports.items():
        led = [each for each in found.topics[0].partitions if each.leader_id == node_id]
        frames = [produce_frame(TOPIC, batch, partition=each.partition_index) for each in led]
        client = LoadClient(_HOST, port)
        if frames:
            client.run(frames.__getitem__, len(frames), 1)
        client.close()


def crash(brokers: int, partitions: int) -> None:
    """A broker that leads a hundredth of the partitions crashes, and then every third one."""
    settings = {"broker.session.timeout.ms": 0}
    with Broker(settings, brokers=brokers) as cluster:
        create(cluster.port, partitions)
        fill(cluster)
        led = Counter(each.leader_id for each in ask_all(cluster.port).topics[0].partitions)
        del led[1]  # the watch is a client of the first broker
        node, count = led.most_common(1)[0]
        with StallWatch(cluster.port, cluster.pid) as watch:

            def timed(what: str, work: Callable[[], object]) -> None:
                watch.lap()
                before = time.perf_counter()
                work()
                seconds, stall = time.perf_counter() - before, watch.lap()
                print(f"{what}: {seconds * 1000:.0f} ms")
                check("this holds the loop", stall.cpu_ms, "ms", STALL_MS_MAX)

            timed(f"a broker that leads {count} crashes", cluster.brokers[node].down)
            timed("until others lead", lambda: until_led(cluster.port, gone=node))
            timed("its return", cluster.brokers[node].up)
            third = range(3, brokers + 1, 3)
            timed(f"{len(third)} crash", lambda: [cluster.brokers[one].down() for one in third])
            timed("all come back, and preferred replicas lead", cluster.heal)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--brokers", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=1_000)
    options = parser.parse_args()
    write_bytecode()
    with tempfile.TemporaryDirectory(prefix="brokers-") as name:
        start(Path(name))
        requests(Path(name), options.brokers, options.partitions)
    crash(options.brokers, options.partitions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
