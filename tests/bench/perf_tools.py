"""`broker-lite bench` beside Kafka's perf tools and librdkafka, on the same broker.

    python -m tests.bench.perf_tools [--rates 10000,50000] [--seconds 10] [--rounds 2] [--kafka]

Records of 100 bytes in batches of 16 KB go to a topic of 12 partitions. The tools take turns. CPU
is that of the client for 10^9 bytes of batches, with the start of its runtime; `bench` has its
warm-up in it, too. `e2e` sends single records; Kafka's tool sends the next one after it has read
the one before. librdkafka is run by a loop in Python, and by its own rdkafka_performance where that
is on PATH. The broker is broker-lite, with `--kafka` a real Kafka, or one that runs already at
`--bootstrap`.
"""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from broker_lite.client import Client
from broker_lite.load.cluster import Cluster
from tests.support.broker_process import BrokerProcess
from tests.support.command_line import environment, process_of
from tests.support.reference_kafka import ReferenceKafka, java_command

RECORD_BYTES = 100
BATCH_BYTES = 16_384
PARTITIONS = 12
TOPIC = "perf"
E2E_TOPIC = "perf-e2e"
WARMUP_S = 2
E2E_RECORDS = 3000
E2E_PER_SECOND = 200
GB = 1e9
TIMEOUT_S = 400
RDKAFKA = "rdkafka_performance"
SENT = re.compile(
    r"^\d+ records sent, ([\d.]+) records/sec.*? ([\d.]+) ms avg latency", re.MULTILINE
)
LIBRDKAFKA = """
import sys, time
from confluent_kafka import Producer
bootstrap, topic, count, rate, size = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
producer = Producer({"bootstrap.servers": bootstrap, "batch.size": 16384, "linger.ms": 5,
                     "queue.buffering.max.messages": 1000000})
value, start = bytes(size), time.monotonic()
for number in range(count):
    if number % 100 == 0:
        producer.poll(0)
        if rate and (early := start + number / rate - time.monotonic()) > 0:
            time.sleep(early)
    while True:
        try:
            producer.produce(topic, value)
            break
        except BufferError:
            producer.poll(0.01)
producer.flush()
print(count / (time.monotonic() - start))
"""


class Outcome(NamedTuple):
    """Records a second, a latency in ms, and the CPU seconds of the client for each GB."""

    records_per_s: float
    ms: float
    cpu_s_per_gb: float


def run(command: Sequence[str]) -> tuple[str, float]:
    """What a command prints, and the CPU time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment()
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{command[0]}: {done.stdout}{done.stderr}")
    spent_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return done.stdout, spent_s


def bench(
    kind: str,
    bootstrap: str,
    seconds: float,
    *flags: str,
    topic: str = TOPIC,
    figure: str = "p50",
) -> Outcome:
    """A run of `broker-lite bench`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.json"
        _, cpu_s = run(
            process_of(
                [
                    *("bench", kind, "--bootstrap", bootstrap, "--topic", topic),
                    *("--duration", str(seconds), "--warmup", str(WARMUP_S)),
                    *("--json", str(path), *flags),
                ]
            )
        )
        result = json.loads(path.read_text())
    measured = result["measured"]
    moved = measured["bytes"] + result["warmup"]["bytes"]
    return Outcome(
        measured["records_per_s"], measured["latency_ms"][figure], cpu_s / max(moved, 1) * GB
    )


def java_produce(bootstrap: str, seconds: float, rate: int) -> Outcome:
    """A run of Kafka's ProducerPerformance."""
    count = int((rate or 400_000) * (seconds + WARMUP_S))
    command = java_command(
        "org.apache.kafka.tools.ProducerPerformance",
        [
            *("--topic", TOPIC, "--num-records", str(count), "--record-size", str(RECORD_BYTES)),
            *("--throughput", str(rate or -1), "--command-property"),
            *(f"bootstrap.servers={bootstrap}", f"batch.size={BATCH_BYTES}"),
            *("linger.ms=5", "acks=all"),
        ],
    )
    out, cpu_s = run(command)
    found = SENT.findall(out)[-1]
    return Outcome(float(found[0]), float(found[1]), cpu_s / (count * wire_bytes()) * GB)


def librdkafka_produce(bootstrap: str, seconds: float, rate: int) -> Outcome:
    """A run of a loop over librdkafka; it tells no latency."""
    count = int((rate or 200_000) * (seconds + WARMUP_S))
    arguments = (bootstrap, TOPIC, str(count), str(rate), str(RECORD_BYTES))
    out, cpu_s = run([sys.executable, "-c", LIBRDKAFKA, *arguments])
    return Outcome(float(out), 0.0, cpu_s / (count * wire_bytes()) * GB)


def rdkafka_performance(bootstrap: str, seconds: float, rate: int) -> Outcome:
    """A run of librdkafka's example program; it tells no latency."""
    count = int((rate or 400_000) * (seconds + WARMUP_S))
    command = [
        *(RDKAFKA, "-P", "-b", bootstrap, "-t", TOPIC, "-s", str(RECORD_BYTES), "-c", str(count)),
        *("-a", "-1", "-X", f"batch.size={BATCH_BYTES}", "-X", "linger.ms=5"),
        *(("-r", str(rate)) if rate else ()),
    ]
    out, cpu_s = run(command)
    per_s = re.findall(r": (\d+) msgs/s", out)[-1]
    return Outcome(float(per_s), 0.0, cpu_s / (count * wire_bytes()) * GB)


def wire_bytes() -> float:
    """The bytes of a record with its share of the batch's header."""
    return RECORD_BYTES + 10


def java_fetch(bootstrap: str, count: int) -> Outcome:
    """A run of Kafka's ConsumerPerformance."""
    out, cpu_s = run(
        java_command(
            "org.apache.kafka.tools.ConsumerPerformance",
            [
                *("--bootstrap-server", bootstrap, "--topic", TOPIC),
                *("--num-records", str(count), "--hide-header", "--timeout", "30000"),
            ],
        )
    )
    fields = [field.strip() for field in out.strip().splitlines()[-1].split(",")]
    return Outcome(float(fields[9]), 0.0, cpu_s / (float(fields[4]) * wire_bytes()) * GB)


def java_e2e(bootstrap: str) -> Outcome:
    """A run of Kafka's EndToEndLatency: one record after the other."""
    out, cpu_s = run(
        java_command(
            "org.apache.kafka.tools.EndToEndLatency",
            [bootstrap, E2E_TOPIC, str(E2E_RECORDS), "all", str(RECORD_BYTES)],
        )
    )
    found = re.search(r"Avg latency: ([\d.]+) ms", out)
    assert found is not None, out
    return Outcome(0.0, float(found[1]), cpu_s / (E2E_RECORDS * wire_bytes()) * GB)


def show(what: str, rounds: Sequence[Outcome]) -> None:
    """One row: the figures of each round."""

    def cells(name: str, digits: int) -> str:
        return " ".join(f"{getattr(each, name):,.{digits}f}" for each in rounds)

    print(
        f"{what:<44} {cells('records_per_s', 0):>24} records/s"
        f" {cells('ms', 2):>16} ms {cells('cpu_s_per_gb', 1):>14} s a GB",
        flush=True,
    )


@contextmanager
def broker(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    """A running broker's address."""
    if options.bootstrap:
        yield options.bootstrap
    elif options.kafka:
        with ReferenceKafka(folder / "kafka") as kafka:
            yield kafka.bootstrap
    else:
        with BrokerProcess(folder / "data") as process:
            yield process.bootstrap


def main() -> None:
    """Run all rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rates", default="10000,50000", help="records a second; 0 for all it can")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--cases", default="", help="only rows whose name holds this")
    parser.add_argument("--kafka", action="store_true", help="a real Kafka is the broker")
    parser.add_argument("--bootstrap", default="", help="HOST:PORT of a broker that runs already")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder, broker(options, Path(folder)) as bootstrap:
        for rate in map(int, options.rates.split(",")):
            produce_rows(bootstrap, rate, options)
        rows(
            options,
            {
                "fetch, bench": lambda: bench("fetch", bootstrap, options.seconds, "--loop"),
                "fetch, ConsumerPerformance": lambda: java_fetch(bootstrap, written(bootstrap)),
            },
        )
        single = ("--batch-bytes", "1", "--partitions", "1", "--rate", f"{E2E_PER_SECOND}/s")
        rows(
            options,
            {
                "e2e, mean, bench": lambda: bench(
                    *("e2e", bootstrap, options.seconds, *single), topic=E2E_TOPIC, figure="mean"
                ),
                "e2e, mean, EndToEndLatency": lambda: java_e2e(bootstrap),
            },
        )


def written(bootstrap: str) -> int:
    """How many records the topic has."""
    cluster = Cluster(Client(bootstrap), TOPIC, Client)
    count = sum(cluster.offsets(earliest=False).values())
    cluster.close()
    return count


def produce_rows(bootstrap: str, rate: int, options: argparse.Namespace) -> None:
    """The rows of a rate."""
    seconds = options.seconds
    name = f"{rate:,}/s" if rate else "max"
    flag = f"{rate}/s" if rate else "max"
    own = {f"produce {name}, {RDKAFKA}": lambda: rdkafka_performance(bootstrap, seconds, rate)}
    rows(
        options,
        {
            f"produce {name}, bench": lambda: bench("produce", bootstrap, seconds, "--rate", flag),
            f"produce {name}, ProducerPerformance": lambda: java_produce(bootstrap, seconds, rate),
            f"produce {name}, librdkafka": lambda: librdkafka_produce(bootstrap, seconds, rate),
            **(own if shutil.which(RDKAFKA) else {}),
        },
    )


def rows(options: argparse.Namespace, cases: dict[str, Callable[[], Outcome]]) -> None:
    """Run cases in turns, and show each."""
    wanted = {name: case for name, case in cases.items() if options.cases in name}
    found: dict[str, list[Outcome]] = {name: [] for name in wanted}
    for _ in range(options.rounds):
        for name, case in wanted.items():
            found[name].append(case())
    for name, outcomes in found.items():
        show(name, outcomes)


if __name__ == "__main__":
    main()
