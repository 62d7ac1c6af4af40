"""What the broker's CPU pays for the two ListOffsets that Spark's connector sends with each poll.

    python -m tests.bench.list_offsets [--requests 5000] [--rounds 5]

The bound is 100 µs for each of them, with all that belongs to it: reading from the socket, the
answer, writing.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any, Final

from broker_lite.wire import messages
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient

BOUND_US: Final = 100
VERSION: Final = 9
TOPIC: Final = "bench"
SPECS: Final = {"latest (-1)": -1, "earliest (-2)": -2}


def query(timestamp: int, isolation_level: int = 0) -> Any:
    """Ask for one offset of one partition, as a consumer does."""
    request = messages.ListOffsetsRequest
    asked = request.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    topics = [request.ListOffsetsTopic(name=TOPIC, partitions=[asked])]
    return request(topics=topics, isolation_level=isolation_level, timeout_ms=60_000)


def cpu_us(pid: int) -> float:
    """User and system time of a process so far, of all of its threads."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1000


def cost_us(client: RawClient, pid: int, frames: int, api_key: int, body: bytes) -> float:
    """CPU time of the broker for one of many equal requests."""
    before = cpu_us(pid)
    for _ in range(frames):
        client.send(api_key, VERSION, body, flexible=True)
        client.receive(flexible=True)
    return (cpu_us(pid) - before) / frames


def main() -> None:
    """Print a line for each kind of request."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    kind = messages.ListOffsetsRequest
    bodies = {
        f"{name}, {level}": kind.encode(query(timestamp, number), VERSION)
        for number, level in enumerate(("read_uncommitted", "read_committed"))
        for name, timestamp in SPECS.items()
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        BrokerProcess(Path(folder, "data")) as broker,
        RawClient(broker.host, broker.port) as client,
    ):
        create(client)
        for timestamp in SPECS.values():
            [topic] = client.request(kind, query(timestamp), VERSION).topics
            assert topic.partitions[0].error_code == 0
        cost_us(client, broker.pid, given.requests, kind.api_key, next(iter(bodies.values())))
        print(f"CPU of the broker for a ListOffsets v{VERSION}, best of {given.rounds} rounds")
        for name, body in bodies.items():
            rounds = [
                cost_us(client, broker.pid, given.requests, kind.api_key, body)
                for _ in range(given.rounds)
            ]
            print(f"{name:32} {min(rounds):6.1f} µs   bound {BOUND_US} µs")


def create(client: RawClient) -> None:
    """Make the topic."""
    request = messages.CreateTopicsRequest
    topic = request.CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1)
    client.call("CreateTopics", 5, topics=[topic], timeout_ms=30_000)


if __name__ == "__main__":
    main()
