"""What broker-side compression costs: broker-lite and Apache Kafka side by side, in turns.

    python -m tests.bench.rebuild [--scale 1.0] [--rounds 3] [--cases zstd] [--alone]

The producer sends batches of one codec to a topic whose `compression.type` is another, so that the
broker writes each batch anew. CPU is the broker process's user and system time for 10^9 bytes of
plain records; the best of the rounds counts. `odd` are records that a writer would have written in
other bytes, which cannot stay as they are.
"""

import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from broker_lite.record.builder import BatchBuilder, encode_record
from broker_lite.record.codecs.compression import Codec, compress
from tests.bench.cost import Target, targets
from tests.bench.load_client import LoadClient, Round, create_topic, measure, produce_frame
from tests.bench.options import begin
from tests.log.batches import batch

_RECORD_BYTES = 100
_IN_FLIGHT = 5
_WORDS = [random.Random(number).randbytes(5).hex() for number in range(500)]


class Case(NamedTuple):
    """One row: what is sent, and what it becomes."""

    source: str
    target: str
    records: int
    requests: int
    is_odd: bool = False

    @property
    def name(self) -> str:
        """As it is printed."""
        odd = ", odd" if self.is_odd else ""
        return f"{self.source} to {self.target}, {self.records:,} records{odd}"


CASES = (
    Case("none", "zstd", 150, 8000),
    Case("none", "zstd", 10_000, 150),
    Case("none", "lz4", 10_000, 150),
    Case("none", "snappy", 10_000, 150),
    Case("none", "gzip", 10_000, 100),
    Case("lz4", "zstd", 150, 8000),
    Case("lz4", "zstd", 10_000, 150),
    Case("zstd", "none", 10_000, 150),
    Case("none", "zstd", 10_000, 150, True),
    Case("lz4", "zstd", 10_000, 150, True),
)


def text(seed: int) -> bytes:
    """About 100 bytes that compress as a line of JSON or of a log does."""
    return " ".join(random.Random(seed).choices(_WORDS, k=9)).encode()[:_RECORD_BYTES]


def batch_of(case: Case) -> tuple[bytes, int]:
    """A batch, and the size of its plain records."""
    now_ms = int(time.time() * 1000)
    if case.is_odd:
        content = b"".join(
            encode_record(index, 0, None, text(index), [("ü".encode(), b"x")])
            for index in range(case.records)
        )
        codec = Codec[case.source.upper()]
        data = batch(
            compress(codec, content), count=case.records, attributes=codec, timestamp=now_ms
        )
        return data, len(content)
    builder = BatchBuilder(codec=Codec[case.source.upper()])
    for index in range(case.records):
        builder.append(now_ms + index, None, text(index))
    return bytes(builder.build()), builder.uncompressed_size_bytes


def rounds_of(target: Target, case: Case, requests: int, rounds: int) -> Iterator[Round]:
    """A warm-up, then one round at each step, all to one topic."""
    topic = f"{case.source}-{case.target}-{case.records}-{case.is_odd}"
    config = "uncompressed" if case.target == "none" else case.target
    create_topic(
        "127.0.0.1",
        target.port,
        topic,
        compression_type=config,
        max_message_bytes="10000000",
        retention_bytes="100000000",
    )
    data, plain_bytes = batch_of(case)
    frame = produce_frame(topic, data)
    client = LoadClient("127.0.0.1", target.port)
    client.run(lambda _: frame, max(requests // 2, 10), _IN_FLIGHT)
    for _ in range(rounds):
        yield measure(
            client,
            target.pid,
            lambda _: frame,
            requests=requests,
            in_flight=_IN_FLIGHT,
            payload_bytes=plain_bytes,
        )
    client.close()


def row(case: Case, found: list[list[Round]]) -> str:
    """One line of the table."""
    cells, costs = [], []
    for rounds in found:
        cpu = min(each.cpu_s_per_gb for each in rounds)
        speed = max(each.requests_per_s for each in rounds) * case.records
        costs.append(cpu)
        cells.append(f"{cpu:6.2f} s/GB {speed / 1e6:6.2f} M records/s")
    if len(costs) == 2:
        cells.append(f"cpu x {costs[0] / costs[1]:.2f}")
    return f"{case.name:36} | " + " | ".join(cells)


def main() -> int:
    """Run from the command line."""
    given = begin(__doc__)
    names = {"broker-lite"} if given.alone else {"broker-lite", "kafka"}
    with (
        tempfile.TemporaryDirectory(prefix="rebuild-") as folder,
        targets(Path(folder), names) as brokers,
    ):
        for case in CASES:
            if given.cases not in case.name:
                continue
            requests = max(int(case.requests * given.scale), 10)
            running = [rounds_of(each, case, requests, given.rounds) for each in brokers]
            # the brokers take turns, round by round
            turns = list(zip(*running, strict=True))
            print(row(case, [list(each) for each in zip(*turns, strict=True)]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
