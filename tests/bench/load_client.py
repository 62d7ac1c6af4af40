"""One raw connection that keeps several requests in flight, as cheap as Python can make it.

Requests are encoded before the clock runs; what comes back is received and counted, not decoded,
so the client costs little beside the broker.
"""

import os
import socket
import ssl
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from broker_lite.record.builder import BatchBuilder
from broker_lite.wire import messages
from tests.support.raw_client import RawClient

PRODUCE_VERSION = 9
FETCH_VERSION = 12
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_DRAIN_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one round cost and moved."""

    requests: int
    payload_bytes: int
    seconds: float
    user_s: float
    system_s: float

    @property
    def broker_cpu_s(self) -> float:
        """User and system time of the broker."""
        return self.user_s + self.system_s

    @property
    def system_share(self) -> float:
        """How much of the broker's CPU its system calls take, from 0 to 1."""
        return self.system_s / self.broker_cpu_s

    @property
    def cpu_us_per_request(self) -> float:
        """Broker CPU, user and system, of one request."""
        return self.broker_cpu_s / self.requests * 1e6

    @property
    def cpu_s_per_gb(self) -> float:
        """Broker CPU of 10^9 bytes of records."""
        return self.broker_cpu_s / self.payload_bytes * 1e9

    @property
    def mb_per_s(self) -> float:
        """Throughput in 10^6 bytes of records."""
        return self.payload_bytes / self.seconds / 1e6

    @property
    def requests_per_s(self) -> float:
        """Throughput in requests."""
        return self.requests / self.seconds


def cpu_s(pid: int) -> float:
    """User and system time of a process so far, all its threads, in steps of 10 ms."""
    return sum(user_and_system_s(pid))


def user_and_system_s(pid: int) -> tuple[float, float]:
    """The two parts of cpu_s()."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) / _TICKS_PER_S, int(fields[12]) / _TICKS_PER_S


def touch_memory(folder: Path, size_bytes: int) -> None:
    """Write that much memory once, by a file, and give it back.

    A virtual machine gets memory from its host when it first writes to it, and may have to give
    back what lies free: 3 ms a megabyte were seen, several times what a broker costs. What was
    touched just before is used next, so nobody's figures hold that.
    """
    chunk = bytes(1 << 20)
    path = folder / "touched"
    with path.open("wb") as file:
        for _ in range(size_bytes // len(chunk)):
            file.write(chunk)
    path.unlink()


class LoadClient:
    """A connection with a window of requests in flight."""

    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port), 60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._prefix = memoryview(bytearray(4))
        self._sink = memoryview(bytearray(_DRAIN_BYTES))

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()

    def run(self, frame_at: Callable[[int], bytes], requests: int, in_flight: int) -> int:
        """Send `requests` frames with at most `in_flight` unanswered; return the bytes answered."""
        send = self.socket.sendall
        sent = 0
        answered_bytes = 0
        for sent in range(min(in_flight, requests)):
            send(frame_at(sent))
        sent += 1
        for _ in range(requests):
            answered_bytes += self.skip()
            if sent < requests:
                send(frame_at(sent))
                sent += 1
        return answered_bytes

    def skip(self) -> int:
        """Receive one answer, and return how many bytes it has."""
        receive, sink = self.socket.recv_into, self._sink
        size = self._size()
        missing = size
        while missing:
            dropped = receive(sink, min(missing, _DRAIN_BYTES))
            if dropped == 0:
                raise ConnectionError("the broker closed the connection")
            missing -= dropped
        return size

    def _size(self) -> int:
        if self.socket.recv_into(self._prefix, 4, socket.MSG_WAITALL) < 4:
            raise ConnectionError("the broker closed the connection")
        return int.from_bytes(self._prefix, "big")


class TlsLoadClient(LoadClient):
    """The same over TLS, of which a receive gives at most one record."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext) -> None:
        super().__init__(host, port)
        self.socket = context.wrap_socket(self.socket, server_hostname="localhost")

    def _size(self) -> int:  # type: ignore[explicit-override]
        head = b""
        while len(head) < 4:
            received = self.socket.recv(4 - len(head))
            if not received:
                raise ConnectionError("the broker closed the connection")
            head += received
        return int.from_bytes(head, "big")


def measure(
    client: LoadClient,
    pid: int,
    frame_at: Callable[[int], bytes],
    *,
    requests: int,
    in_flight: int,
    payload_bytes: int | None = None,
) -> Round:
    """Run one round and read the broker's CPU before and after.

    `payload_bytes` is what a request carries; without it the bytes of the answers are counted.
    """
    before_user_s, before_system_s = user_and_system_s(pid)
    started = time.perf_counter()
    answered_bytes = client.run(frame_at, requests, in_flight)
    seconds = time.perf_counter() - started
    user_s, system_s = user_and_system_s(pid)
    return Round(
        requests=requests,
        payload_bytes=answered_bytes if payload_bytes is None else payload_bytes * requests,
        seconds=seconds,
        user_s=user_s - before_user_s,
        system_s=system_s - before_system_s,
    )


def batch_of(records: int, value_bytes: int) -> bytes:
    """One uncompressed batch of equal records."""
    builder = BatchBuilder()
    value = bytes(range(256)) * (value_bytes // 256 + 1)
    now_ms = int(time.time() * 1000)
    for index in range(records):
        builder.append(timestamp=now_ms + index, key=None, value=value[:value_bytes])
    return bytes(builder.build())


def _frame(api_key: int, version: int, body: bytes) -> bytes:
    client_id = b"load"
    head = struct.pack(">hhih", api_key, version, 7, len(client_id)) + client_id + b"\x00"
    return struct.pack(">i", len(head) + len(body)) + head + body


def produce_frame(topic: str, batch: bytes, *, partition: int = 0, acks: int = 1) -> bytes:
    """A whole Produce request for one partition."""
    kind = messages.ProduceRequest
    data = kind.PartitionProduceData(index=partition, records=batch)
    value = kind(
        acks=acks,
        timeout_ms=30_000,
        topic_data=[kind.TopicProduceData(name=topic, partition_data=[data])],
    )
    return _frame(0, PRODUCE_VERSION, kind.encode(value, PRODUCE_VERSION))


def fetch_frame(
    topic: str, offset: int, max_bytes: int, *, partition: int = 0, max_wait_ms: int = 0
) -> bytes:
    """A whole Fetch request for one partition, without session."""
    kind = messages.FetchRequest
    asked = kind.FetchPartition(
        partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes
    )
    value = kind(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        session_epoch=-1,
        topics=[kind.FetchTopic(topic=topic, partitions=[asked])],
    )
    return _frame(1, FETCH_VERSION, kind.encode(value, FETCH_VERSION))


def create_topic(host: str, port: int, name: str, partitions: int = 1, **config: str) -> None:
    """Create a topic and wait until its first partition answers."""
    kind = messages.CreateTopicsRequest
    entries = [
        kind.CreatableTopicConfig(name=key.replace("_", "."), value=value)
        for key, value in config.items()
    ]
    topic = kind.CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=1, configs=entries
    )
    offsets = messages.ListOffsetsRequest
    asked = offsets.ListOffsetsPartition(partition_index=partitions - 1, timestamp=-1)
    query = offsets(topics=[offsets.ListOffsetsTopic(name=name, partitions=[asked])])
    with RawClient(host, port, timeout_s=120) as client:
        answer = client.request(kind, kind(topics=[topic], timeout_ms=100_000), 5)
        assert answer.topics[0].error_code == 0, answer
        while client.request(offsets, query, 6).topics[0].partitions[0].error_code != 0:
            time.sleep(0.05)


def delete_topic(host: str, port: int, name: str) -> None:
    """Delete a topic, its files with it."""
    kind = messages.DeleteTopicsRequest
    with RawClient(host, port, timeout_s=60) as client:
        client.request(kind, kind(topic_names=[name], timeout_ms=30_000), 5)
