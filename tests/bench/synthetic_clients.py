"""How fast real consumers read synthetic records, beside stored ones in the page cache.

    python -m tests.bench.synthetic_clients [--scale 1.0] [--rounds 3] [--cases franz]

3 million records of 100 bytes in batches of 16 KB, the same ones in both topics. Clients read from
the begin of one topic, then of the other, round by round. Each tells its own rate, without its
start. Those in Python read a tenth of the records. rdkafka_performance, an example in librdkafka's
sources, takes part where it is on PATH.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from broker_lite.record.canned import CannedShape, canned_batches
from tests.bench.load_client import LoadClient, cpu_s, create_topic, produce_frame
from tests.bench.options import begin
from tests.bench.synthetic import synthetic
from tests.conformance.clients import Builds
from tests.support.broker_process import BrokerProcess
from tests.support.command_line import environment
from tests.support.reference_kafka import java_command

RECORDS: Final = 3_000_000
RECORD_BYTES: Final = 100
SHAPE: Final = CannedShape(batch_records=150, record_bytes=RECORD_BYTES)
HOST: Final = "127.0.0.1"
TIMEOUT_S: Final = 600
RDKAFKA: Final = "rdkafka_performance"
LIBRDKAFKA: Final = """
import sys, time
from confluent_kafka import Consumer, TopicPartition
bootstrap, topic, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none",
                     "enable.auto.commit": False, "check.crcs": True})
consumer.assign([TopicPartition(topic, 0, 0)])
left = count - len(consumer.consume(1, 30))
start = time.monotonic()
while left > 0:
    left -= len(consumer.consume(10_000, 1))
print(count / (time.monotonic() - start))
consumer.close()
"""
AIOKAFKA: Final = """
import asyncio, sys, time
from aiokafka import AIOKafkaConsumer, TopicPartition
async def main(bootstrap, topic, count):
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, check_crcs=True)
    async with consumer:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        consumer.seek(partition, 0)
        await consumer.getone()
        left, start = count - 1, time.monotonic()
        while left > 0:
            left -= sum(map(len, (await consumer.getmany(timeout_ms=1000)).values()))
        print(count / (time.monotonic() - start))
asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


@dataclass(frozen=True, slots=True)
class Reader:
    """A client that reads `count` records of a topic.

    Attributes:
        command: its command line, from address, topic and count.
        megabytes_per_s: of values, from what it prints.
        share: of the records that the others read.
    """

    command: Callable[[str, str, int], list[str]]
    megabytes_per_s: Callable[[str], float]
    share: float = 1.0


def _loop(program: str) -> Reader:
    return Reader(
        lambda bootstrap, topic, count: [
            *(sys.executable, "-c", program, bootstrap, topic, str(count))
        ],
        lambda printed: float(printed) * RECORD_BYTES / 1e6,
        share=0.1,
    )


def _go(program: Path) -> Reader:
    return Reader(
        lambda bootstrap, topic, count: [
            *(str(program), "reader", f"bootstrap={bootstrap}", f"topic={topic}"),
            *(f"count={count}", f"run={SHAPE.record_count}"),
        ],
        lambda printed: float(printed.split()[-2]),
    )


def readers(builds: Builds) -> dict[str, Reader]:
    """All clients by their names."""
    return {
        RDKAFKA: Reader(
            lambda bootstrap, topic, count: [
                *(RDKAFKA, "-C", "-b", bootstrap, "-t", topic, "-p", "0"),
                *("-o", "beginning", "-c", str(count), "-X", "check.crcs=true"),
            ],
            lambda printed: float(re.findall(r"\(([\d.]+) MB/s\)", printed)[-1]),
        ),
        "ConsumerPerformance": Reader(
            lambda bootstrap, topic, count: java_command(
                "org.apache.kafka.tools.ConsumerPerformance",
                [
                    *("--bootstrap-server", bootstrap, "--topic", topic),
                    *("--num-records", str(count), "--hide-header"),
                ],
            ),
            lambda printed: float(printed.splitlines()[-1].split(",")[9]) * RECORD_BYTES / 1e6,
        ),
        "franz-go": _go(builds.go() / "franz"),
        "sarama": _go(builds.go() / "sarama"),
        "confluent-kafka": _loop(LIBRDKAFKA),
        "aiokafka": _loop(AIOKAFKA),
    }


def fill(port: int, topic: str, count: int) -> None:
    """Make a stored topic with the records of a synthetic one."""
    create_topic(HOST, port, topic, retention_ms="-1")  # the records are of 2024
    frames = [produce_frame(topic, bytes(batch)) for batch in canned_batches(SHAPE)]
    client = LoadClient(HOST, port)
    client.run(lambda index: frames[index % len(frames)], count // SHAPE.batch_records + 1, 5)
    client.close()


@dataclass(frozen=True, slots=True)
class Reading:
    """One run of a client: values in MB a second, and the broker's CPU seconds for each GB."""

    megabytes_per_s: float
    broker_s_per_gb: float


def read(reader: Reader, broker: BrokerProcess, topic: str, count: int) -> Reading:
    """Run a client to its end."""
    before = cpu_s(broker.pid)
    done = subprocess.run(
        reader.command(broker.bootstrap, topic, count),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env=environment(),
    )
    spent_s = cpu_s(broker.pid) - before
    if done.returncode:
        raise SystemExit(f"{done.args[0]}: {done.stdout}{done.stderr}")
    rate = reader.megabytes_per_s(done.stdout)
    return Reading(rate, spent_s / (count * RECORD_BYTES) * 1e9)


def in_turns(
    reader: Reader, broker: BrokerProcess, topics: tuple[str, str], count: int, rounds: int
) -> dict[str, list[Reading]]:
    """Read two topics round by round, the one that was second first in the next round."""
    found: dict[str, list[Reading]] = {topic: [] for topic in topics}
    for number in range(rounds):
        for topic in topics if number % 2 == 0 else reversed(topics):
            found[topic].append(read(reader, broker, topic, count))
    return found


def row(name: str, stored: list[Reading], made: list[Reading]) -> str:
    """One line of the table: the rates of all rounds, the least CPU, the ratio of the medians."""

    def cell(found: list[Reading]) -> str:
        rates = " ".join(f"{each.megabytes_per_s:5.1f}" for each in found)
        return f"{rates} MB/s, broker {min(each.broker_s_per_gb for each in found):.2f} s/GB"

    ratio = median(r.megabytes_per_s for r in made) / median(r.megabytes_per_s for r in stored)
    return f"{name:20} | stored {cell(stored)} | synthetic {cell(made)} | x {ratio:.2f}"


def main() -> int:
    """Run from the command line."""
    options = begin(__doc__, beside_kafka=False)
    records = int(RECORDS * options.scale)
    with (
        tempfile.TemporaryDirectory(prefix="synthetic-clients-", dir=options.folder) as folder,
        BrokerProcess(Path(folder) / "data") as broker,
    ):
        fill(broker.port, "stored", records)
        made = synthetic(broker.port, (SHAPE.batch_records, SHAPE.record_bytes))
        for name, reader in readers(Builds(Path(folder))).items():
            if options.cases not in name:
                continue
            if name == RDKAFKA and shutil.which(name) is None:
                print(f"{name:20} | is not on PATH")
                continue
            count = int(records * reader.share)
            found = in_turns(reader, broker, ("stored", made), count, options.rounds)
            print(row(name, *found.values()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
