"""Random and damaged frames on many connections of a live broker.

    python -m tests.fuzz.live --seed 1 --frames 100000

Between them a well-behaved client produces and fetches on a connection of its own: its answers must
not change. Afterwards the broker must live, have logged no traceback, hold no connection, and not
have grown. A frame that gets neither an answer nor a closed connection in time is stuck.
"""

import argparse
import select
import socket
import struct
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from broker_lite.record.builder import BatchBuilder
from broker_lite.wire import messages
from tests.bench.growth import resident_bytes
from tests.fuzz.frames import FETCH, TOPIC, Frame, FrameGenerator
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient

CONNECTIONS = 50
STUCK_S = 5.0
PARKED_S = 0.05
GROWTH_BYTES_MAX = 100_000_000
PROBE_EVERY = 500


@dataclass(slots=True)
class Findings:
    """What a run saw."""

    frames: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0
    grown_bytes: int = 0

    def summary(self) -> str:
        """The figures of the run."""
        return (
            f"{sum(self.frames.values())} frames {dict(self.frames)}: {dict(self.outcomes)}, "
            f"{self.seconds:.0f} s, memory grew by {self.grown_bytes / 1e6:.1f} MB, "
            f"{len(self.faults)} faults"
        )


class _Connections:
    """A pool of connections, opened again when the broker closed one."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._open: list[socket.socket | None] = [None] * CONNECTIONS

    def exchange(self, index: int, frame: Frame) -> str:
        """Send a frame; return `answered`, `closed`, `parked` (a long poll) or `stuck`."""
        connection = self._open[index]
        if connection is None:
            connection = socket.create_connection(("127.0.0.1", self._port), 10)
            self._open[index] = connection
        outcome = _outcome(connection, frame)
        if outcome != "answered":
            connection.close()
            self._open[index] = None
        return outcome

    def close(self) -> None:
        """Close them all."""
        for connection in self._open:
            if connection is not None:
                connection.close()


def _outcome(connection: socket.socket, frame: Frame) -> str:
    announced, sent = struct.unpack(">i", frame.data[:4])[0], len(frame.data) - 4
    # an incomplete frame waits for its rest, a damaged fetch may ask for a long wait: not stuck
    may_park = announced > sent or frame.api_key == FETCH
    try:
        connection.sendall(frame.data)
        ready, _, _ = select.select([connection], [], [], PARKED_S if may_park else STUCK_S)
        if not ready:
            return "parked" if may_park else _silent(connection)
        return "answered" if _skip(connection) else "closed"
    except ConnectionError:
        return "closed"
    except TimeoutError:
        return "stuck"


def _silent(connection: socket.socket) -> str:
    """Tell acks=0, which has no answer, from a connection that is stuck."""
    connection.sendall(struct.pack(">ihhih", 10, 18, 0, 77, -1))
    ready, _, _ = select.select([connection], [], [], STUCK_S)
    return "answered" if ready and _skip(connection) else "stuck"


def _skip(connection: socket.socket) -> bool:
    connection.settimeout(STUCK_S)
    head = connection.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        return False
    missing = struct.unpack(">i", head)[0]
    while missing:
        chunk = connection.recv(min(missing, 1 << 16))
        if not chunk:
            return False
        missing -= len(chunk)
    return True


class _WellBehaved:
    """A client that produces and fetches the same bytes again and again."""

    def __init__(self, port: int) -> None:
        self._client = RawClient("127.0.0.1", port, timeout_s=10)
        builder = BatchBuilder()
        builder.append(1_700_000_000_000, b"well", b"behaved")
        self._batch = bytes(builder.build())
        kind = messages.CreateTopicsRequest
        topics = [
            kind.CreatableTopic(name=name, num_partitions=2, replication_factor=1)
            for name in (TOPIC, "calm")
        ]
        self._client.request(kind, kind(topics=topics, timeout_ms=10_000), 5)
        self._next_offset = 0

    def check(self) -> str | None:
        """Produce one batch and fetch it; return what was wrong."""
        produce = messages.ProduceRequest
        data = produce.PartitionProduceData(index=1, records=self._batch)
        topic = produce.TopicProduceData(name="calm", partition_data=[data])
        value = produce(acks=-1, timeout_ms=1000, topic_data=[topic])
        answer = self._client.request(produce, value, 9).responses[0].partition_responses[0]
        if (answer.error_code, answer.base_offset) != (0, self._next_offset):
            return f"produce answered {answer}, expected offset {self._next_offset}"
        fetch = messages.FetchRequest
        asked = fetch.FetchPartition(
            partition=1, fetch_offset=self._next_offset, partition_max_bytes=1000
        )
        wanted = [fetch.FetchTopic(topic="calm", partitions=[asked])]
        read = self._client.request(fetch, fetch(max_wait_ms=0, topics=wanted), 12)
        records = bytes(read.responses[0].partitions[0].records)
        if records[16:] != self._batch[16:]:
            return f"fetch of offset {self._next_offset} answered {records.hex()}"
        self._next_offset += 1
        return None


def _descriptors(pid: int) -> int:
    return sum("socket" in str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir())


def run(seed: int, frames: int, folder: Path) -> Findings:
    """Send the frames of a seed to a broker of its own."""
    found = Findings()
    settings = ("auto.create.topics.enable=false",)
    with BrokerProcess(folder / "data", settings=settings) as broker:
        calm = _WellBehaved(broker.port)
        with RawClient("127.0.0.1", broker.port) as client:
            kind = messages.ApiVersionsRequest
            offered = client.request(kind, kind(), 0).api_keys
        versions = {api.api_key: (api.min_version, api.max_version) for api in offered}
        generator, connections = FrameGenerator(seed, versions), _Connections(broker.port)
        started, sockets = time.monotonic(), _descriptors(broker.pid)
        memory = 0
        for index in range(frames):
            frame = generator.frame()
            outcome = connections.exchange(index % CONNECTIONS, frame)
            found.frames[frame.kind] += 1
            found.outcomes[outcome] += 1
            if outcome == "stuck":
                found.faults.append(f"stuck after {frame.kind} {frame.api_key}: {frame.data.hex()}")
            if index % PROBE_EVERY == 0:
                if fault := calm.check():
                    found.faults.append(fault)
                memory = memory or (resident_bytes(broker.pid) if index > frames // 10 else 0)
        connections.close()
        found.seconds = time.monotonic() - started
        found.grown_bytes = resident_bytes(broker.pid) - memory
        _check_afterwards(found, broker, sockets)
    return found


def _check_afterwards(found: Findings, broker: BrokerProcess, sockets: int) -> None:
    deadline = time.monotonic() + STUCK_S
    while _descriptors(broker.pid) > sockets and time.monotonic() < deadline:
        time.sleep(0.05)
    if (held := _descriptors(broker.pid)) > sockets:
        found.faults.append(f"{held} sockets are open, {sockets} before")
    if "Traceback" in broker.log:
        found.faults.append(broker.log[broker.log.index("Traceback") :][:3000])
    if found.grown_bytes > GROWTH_BYTES_MAX:
        found.faults.append(f"memory grew by {found.grown_bytes} bytes")


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--frames", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        found = run(options.seed, options.frames, Path(folder))
    for fault in found.faults[:20]:
        print(fault)
    print(found.summary())
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
