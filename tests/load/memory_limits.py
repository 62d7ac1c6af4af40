"""What a broker holds under the memory limit of a container, without being killed.

    python -m tests.load.memory_limits [--sizes 64,128,256] [--loads NAME,...]

Each load runs against a new broker in a control group of its own, which is what a container's
memory limit is: making one by hand needs root, and no engine. The group counts the pages of files
that the broker writes; the kernel takes those back. `peak` is the most that the process itself had.
The last line of each row says what clients saw; a broker that was killed is told in capitals.
"""

import argparse
import contextlib
import os
import socket
import struct
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.compression import Codec, compress
from broker_lite.wire import messages
from tests.fuzz.bombs import bombs
from tests.log.batches import batch, record
from tests.support.broker_process import BrokerProcess
from tests.support.control_group import memory_limit, peak_bytes
from tests.support.raw_client import Closed, RawClient

MIB: Final = 1 << 20
SIZES: Final = (64, 128, 256)
_TOPIC: Final = "load"
_TIMEOUT_S: Final = 60
_BROKER: Final = (sys.executable, "-m", "broker_lite")

Load = Callable[[int], "Counter[str]"]


def batch_of(size_bytes: int) -> bytes:
    """A batch with one record of about this size, which cannot be compressed."""
    builder = BatchBuilder()
    builder.append(1_700_000_000_000, None, os.urandom(size_bytes))
    return bytes(builder.build())


def _code(number: int) -> str:
    return "answered" if number == 0 else f"error {number}"


def produce(port: int, records: bytes, times: int = 1) -> "Counter[str]":
    """Produce a batch some times on a connection; count the answers."""
    seen: Counter[str] = Counter()
    kind = messages.ProduceRequest
    data = [kind.PartitionProduceData(index=0, records=records)]
    value = kind(
        acks=1,
        timeout_ms=60_000,
        topic_data=[kind.TopicProduceData(name=_TOPIC, partition_data=data)],
    )
    try:
        with RawClient("127.0.0.1", port, timeout_s=_TIMEOUT_S) as client:
            for _ in range(times):
                answer = client.request(kind, value, 9)
                seen[_code(answer.responses[0].partition_responses[0].error_code)] += 1
    except (Closed, OSError):
        seen["connection closed"] += 1
    return seen


def _at_once(count: int, work: Callable[[int], "Counter[str]"]) -> "Counter[str]":
    with ThreadPoolExecutor(count) as threads:
        return sum(threads.map(work, range(count)), Counter())


def _create_topic(port: int) -> None:
    with RawClient("127.0.0.1", port, timeout_s=_TIMEOUT_S) as client:
        kind = messages.CreateTopicsRequest
        topic = kind.CreatableTopic(name=_TOPIC, num_partitions=1, replication_factor=1)
        client.request(kind, kind(topics=[topic], timeout_ms=10_000), 5)


def producers(count: int, size_bytes: int, times: int) -> Load:
    """So many producers at once, each with so many requests of this size."""

    def load(port: int) -> "Counter[str]":
        sent = batch_of(size_bytes)
        return _at_once(count, lambda _: produce(port, sent, times))

    return load


def unfinished(port: int) -> "Counter[str]":
    """20 Produce requests of 100 MB of which 26 MB are sent; a small producer beside them."""
    head = struct.pack(">ihhih", 100_000_000, 0, 9, 1, -1)
    seen: Counter[str] = Counter()
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", port), 1))
            try:
                sock.sendall(head + bytes(26_000_000))
            except TimeoutError:
                seen["left in the kernel"] += 1
            except ConnectionError:
                seen["connection closed"] += 1
            else:
                seen["received"] += 1
        return seen + produce(port, batch_of(1000), 20)


def consumers(port: int) -> "Counter[str]":
    """100 consumers that each fetch 50 MB in answers of 1 MB."""
    sent = batch_of(MIB - 1000)
    produce(port, sent, 50)

    def consume(_: int) -> "Counter[str]":
        seen: Counter[str] = Counter()
        kind = messages.FetchRequest
        with RawClient("127.0.0.1", port, timeout_s=_TIMEOUT_S) as client:
            for offset in range(50):
                asked = [kind.FetchPartition(partition=0, fetch_offset=offset,
                                             partition_max_bytes=MIB)]  # fmt: skip
                topics = [kind.FetchTopic(topic=_TOPIC, partitions=asked)]
                answer = client.request(kind, kind(max_bytes=MIB, topics=topics), 11)
                partition = answer.responses[0].partitions[0]
                whole = len(partition.records) >= len(sent)
                seen["answered" if whole else f"error {partition.error_code}"] += 1
        return seen

    return _at_once(100, consume)


def idle(port: int) -> "Counter[str]":
    """1,000 connections that were used once."""
    seen: Counter[str] = Counter()
    with contextlib.ExitStack() as stack:
        for _ in range(1000):
            client = stack.enter_context(RawClient("127.0.0.1", port, timeout_s=_TIMEOUT_S))
            client.call("ApiVersions", 0)
            seen["answered"] += 1
        return seen + produce(port, batch_of(1000), 20)


def _join(client: RawClient, group: str, metadata: bytes, member_id: str = "") -> tuple[int, str]:
    kind = messages.JoinGroupRequest.JoinGroupRequestProtocol
    answer = client.call(
        "JoinGroup",
        5,
        group_id=group,
        session_timeout_ms=60_000,
        rebalance_timeout_ms=1_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[kind(name="range", metadata=metadata)],
    )
    return int(answer.error_code), str(answer.member_id)


def members(count: int, metadata_bytes: int) -> Load:
    """So many groups of one member each, with metadata of this size."""

    def load(port: int) -> "Counter[str]":
        seen: Counter[str] = Counter()
        with RawClient("127.0.0.1", port, timeout_s=_TIMEOUT_S) as client:
            client.call("FindCoordinator", 2, key="group-0")  # makes the topic of groups
        for number in range(count):
            try:
                with RawClient("127.0.0.1", port, timeout_s=_TIMEOUT_S) as client:
                    _, member_id = _join(client, f"group-{number}", b"")
                    metadata = bytes(metadata_bytes)
                    code, _ = _join(client, f"group-{number}", metadata, member_id)
                    seen[_code(code)] += 1
            except (Closed, OSError):
                seen["connection closed"] += 1
        return seen + produce(port, batch_of(1000), 20)

    return load


def explosions(port: int) -> "Counter[str]":
    """Eight batches at once, of less than 1 MB, that decompress to more than 300 MB."""
    found = [bomb for bomb in bombs().values() if len(bomb) < 1_040_000]
    return _at_once(8, lambda number: produce(port, found[number % len(found)]))


def rewritten(port: int) -> "Counter[str]":
    """16 batches at once, of which each takes an eighth of one of the limits when decompressed.

    Their records cannot stay as they are, and they are stored by the slowest level of zstd.
    """
    part = os.urandom(20_000)
    found = []
    for size_bytes in (2_000_000, 10_000_000, 27_000_000):
        record_bytes = record(value=part * (size_bytes // len(part)), offset_delta=3)
        found.append(batch(compress(Codec.GZIP, record_bytes), attributes=Codec.GZIP))
    return _at_once(16, lambda number: produce(port, found[number % len(found)], 3))


def untaken(port: int) -> "Counter[str]":
    """400 clients that ask for the metadata of 1,000 topics and do not read the answer."""
    seen: Counter[str] = Counter()
    with RawClient("127.0.0.1", port, timeout_s=_TIMEOUT_S) as client:
        kind = messages.CreateTopicsRequest
        for first in range(0, 1000, 500):
            topics = [
                kind.CreatableTopic(name=f"{number:0>220}", num_partitions=1, replication_factor=1)
                for number in range(first, first + 500)
            ]
            client.request(kind, kind(topics=topics, timeout_ms=30_000), 5)
    with contextlib.ExitStack() as stack:
        for _ in range(400):
            asking = stack.enter_context(RawClient("127.0.0.1", port, timeout_s=_TIMEOUT_S))
            asking.send(3, 1, struct.pack(">i", -1), flexible=False)
            seen["asked"] += 1
        return seen + produce(port, batch_of(1000), 20)


def _answers(port: int) -> bool:
    try:
        with RawClient("127.0.0.1", port, timeout_s=_TIMEOUT_S) as client:
            client.call("ApiVersions", 0)
    except (Closed, OSError):
        return False
    return True


LOADS: Final[dict[str, tuple[Load, Sequence[str]]]] = {
    "10 producers of 1 MB": (producers(10, 1_000_000, 20), ()),
    "100 producers of 1 MB": (producers(100, 1_000_000, 5), ()),
    "10 producers of 9 MB": (producers(10, 9_000_000, 5), ("message.max.bytes=10000000",)),
    "20 requests of 100 MB, 26 MB arrive": (unfinished, ()),
    "100 consumers, fetches of 1 MB": (consumers, ()),
    "1,000 idle connections": (idle, ()),
    "1,000 groups": (members(1000, 100), ()),
    "100 groups, 150 KB metadata each": (members(100, 150_000), ()),
    "8 bombs of 300 MB and more": (explosions, ()),
    "48 batches rewritten at level 22 of zstd": (
        rewritten,
        ("compression.type=zstd", "compression.zstd.level=22"),
    ),
    "400 answers of 250 KB that nobody takes": (untaken, ()),
}


def run_one(size_mib: int, name: str, folder: Path) -> tuple[bool, str]:
    """Run one load under one limit; whether the broker lives, and a line for people."""
    load, settings = LOADS[name]
    folder.mkdir()
    with memory_limit(f"broker-lite-{os.getpid()}", size_mib * MIB) as prefix:
        broker = BrokerProcess(
            folder / "data", settings=settings, program=(*prefix, *_BROKER)
        ).start()
        try:
            _create_topic(broker.port)
            seen = load(broker.port)
            lives = _answers(broker.port)
            peak = f"{peak_bytes(broker.pid) / MIB:.0f} MiB" if lives else "KILLED"
        finally:
            broker.kill()
    told = ", ".join(f"{count:,} {what}" for what, count in sorted(seen.items()))
    return lives, f"| {size_mib} MiB | {name} | {peak} | {told} |"


def rows(sizes: Sequence[int], names: Sequence[str]) -> Iterator[tuple[bool, str]]:
    """Every load under every limit."""
    with tempfile.TemporaryDirectory(prefix="memory-limits-") as folder:
        for size in sizes:
            for number, name in enumerate(names):
                yield run_one(size, name, Path(folder) / f"{size}-{number}")


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="limits in MiB")
    parser.add_argument("--loads", default="", help="only loads whose names hold this")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    print("| limit | load | peak | clients saw |\n| --- | --- | --- | --- |", flush=True)
    held = True
    for lives, row in rows(sizes, [name for name in LOADS if options.loads in name]):
        print(row, flush=True)
        held = held and lives
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
