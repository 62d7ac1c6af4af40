"""Reading by Spark: our source, Spark's Kafka connector and Parquet, side by side in one run.

    python -m tests.bench.spark [--mib 512] [--rounds 3] [--values 100,1000] [--codecs none,lz4]
                                [--generate-mib 2048] [--tables-mib 512]

Each data set is written to an Apache Kafka and to broker-lite, the same batches to both. Our source
reads Kafka's files; the connector reads from either broker; Parquet was written from the same
records. Rows go to the `noop` sink, which takes every one. A warm-up, in which the rows are
counted, then the best of the rounds, the readers taking turns. CPU is that of Spark's Java and its
Python workers; a broker's own is told beside it. A ratio is our rate over the other's. The reads
from the two brokers differ little, as most of the time is the connector's: they have three times as
many rounds, and the ratio is the median of those of each round. In the end a log is generated and
verified, and one of small records is exported, written and compacted, as the jobs do it.
"""

import argparse
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import pyspark
from pyspark.sql import DataFrame

from broker_lite.pipeline.spark.jobs.compact import compact
from broker_lite.pipeline.spark.jobs.export import export, records_of
from broker_lite.pipeline.spark.jobs.generate import generate
from broker_lite.pipeline.spark.jobs.import_ import import_table
from broker_lite.pipeline.spark.jobs.verify import verify
from broker_lite.record import implementations
from tests.bench.spark_readers import (
    CONNECTOR,
    CONNECTOR_MANY,
    LITE,
    LITE_MANY,
    OURS,
    PARQUET,
    Bench,
    Cost,
    started,
)
from tests.bench.spark_topics import Shape
from tests.pipeline.connector.jars import CONNECTOR_VERSION

MIB: Final = 1 << 20
SMALL_BYTES_MAX: Final = 500
"""Values up to this size are held to the bounds of 100 B, larger ones to those of 1 KB."""
SMALL_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "none": (2.0, 1.3),
    "lz4": (2.5, 1.6),
    "zstd": (2.5, 1.6),
}
LARGE_BOUNDS: Final = (1.7, 1.5)
PARQUET_BOUND: Final = 0.4
LITE_BOUND: Final = 1.0
BROKER_ROUNDS: Final = 3
VERIFY_BOUND_GB: Final = 2.0
GENERATE_BOUND_MB: Final = 200
GENERATED: Final = {"name": "generated", "partitions": 2, "value_bytes": 1000}
KEYED: Final = {
    "name": "keyed",
    "partitions": 2,
    "value_bytes": 100,
    "keys": {"distribution": "uniform", "min": 0, "max": 499_999},
}


def to_nowhere(rows: DataFrame) -> None:
    """Make every row, and drop it."""
    rows.write.format("noop").mode("overwrite").save()


def read_all(bench: Bench, shape: Shape, records: int, rounds: int) -> dict[str, list[Cost]]:
    """What each reader took in each round, after a warm-up that counts."""
    readers = bench.readers()
    for reader in readers:
        found = reader.frame(shape).count()
        assert found == records, f"{reader.name} found {found} records instead of {records}"
        to_nowhere(reader.frame(shape))
    costs: dict[str, list[Cost]] = {reader.name: [] for reader in readers}
    for number in range(rounds * BROKER_ROUNDS):
        # Every other round in the opposite order: who comes later may find Java warmer,
        # or its heap fuller.
        for reader in readers if number % 2 == 0 else reversed(readers):
            if number % BROKER_ROUNDS and reader.pid is None:
                continue
            run = partial(to_nowhere, reader.frame(shape))
            costs[reader.name].append(bench.measure(run, reader.pid))
    return costs


def told(name: str, records: int, costs: list[Cost]) -> str:
    """One line of the table: the best by the wall, and the best by CPU."""
    rate = records / min(cost.seconds for cost in costs) / 1e6
    per_cpu = records / min(cost.cpu_s for cost in costs) / 1e6
    broker_cpu_s = min(cost.broker_cpu_s for cost in costs)
    broker = f"   broker {broker_cpu_s:.2f} CPU-s" if broker_cpu_s else ""
    return f"  {name:17} {rate:8.2f} M/s {per_cpu:8.2f} M a CPU-s{broker}"


def bounded(figure: str, value: float, bound: float | None) -> str:
    """A figure, and the bound that its value must not be under."""
    if bound is None:
        return figure
    return f"{figure} (bound {bound:g} {'ok' if value >= bound else 'MISSED'})"


def ratio(what: str, value: float, bound: float | None) -> str:
    """One line: how many times as fast."""
    return bounded(f"  {what:37} x {value:.2f}", value, bound)


def ratios(shape: Shape, costs: Mapping[str, list[Cost]]) -> list[str]:
    """What the seconds come to: those of the best rounds, and between brokers of each round."""
    is_small = shape.value_bytes <= SMALL_BYTES_MAX
    default, many = SMALL_BOUNDS[shape.codec] if is_small else LARGE_BOUNDS
    parquet = PARQUET_BOUND if shape.codec == "none" else None
    rounds = len(costs[OURS])
    best = {
        name: min(cost.seconds for cost in each[:: len(each) // rounds])
        for name, each in costs.items()
    }
    ours = best[OURS]
    return [
        ratio("segments / connector", best[CONNECTOR] / ours, default),
        ratio("segments / connector, 10,000 a poll", best[CONNECTOR_MANY] / ours, many),
        ratio("segments / Parquet", best[PARQUET] / ours, parquet),
        ratio("connector: broker-lite / Kafka", _paired(costs[CONNECTOR], costs[LITE]), LITE_BOUND),
        ratio(
            "the same, 10,000 a poll", _paired(costs[CONNECTOR_MANY], costs[LITE_MANY]), LITE_BOUND
        ),
    ]


def _paired(kafka: Sequence[Cost], lite: Sequence[Cost]) -> float:
    """How many times as fast the second was, side by side: the median over the rounds.

    A machine that is slow for some rounds is so for both of them.
    """
    return median(one.seconds / other.seconds for one, other in zip(kafka, lite, strict=True))


def run_jobs(bench: Bench, size_bytes: int, rounds: int) -> None:
    """Generate a log some times, then verify it: a line each."""
    spec = {"seed": 1, "topics": [{**GENERATED, "bytes": size_bytes}]}
    directory = str(bench.folder / "generated")
    made = []
    for _ in range(rounds):
        shutil.rmtree(directory, ignore_errors=True)
        Path(directory).mkdir()
        made.append(bench.measure(partial(generate, bench.spark, spec, directory)))
    rate = size_bytes / min(cost.seconds for cost in made) / 1e6
    figure = f"generate {size_bytes / 1e9:.2f} GB of 1 KB: {rate:.0f} MB/s"
    print(bounded(figure, rate, GENERATE_BOUND_MB), flush=True)
    found = verify(bench.spark, directory)
    assert found.is_sound, found.findings[:3]
    costs = [bench.measure(partial(verify, bench.spark, directory)) for _ in range(rounds)]
    by_wall = found.size_bytes / min(cost.seconds for cost in costs) / 1e9
    by_cpu = found.size_bytes / min(cost.worker_cpu_s for cost in costs) / 1e9
    figure = f"verify it: {by_wall:.2f} GB/s, {by_cpu:.2f} GB a CPU-s of the workers"
    print(bounded(figure, by_cpu, VERIFY_BOUND_GB), flush=True)


def run_tables(bench: Bench, size_bytes: int, rounds: int) -> None:
    """Export a log of small records, write and import it, compact it: a line each, no bounds."""
    topic = {**KEYED, "bytes": size_bytes, "segment_bytes": size_bytes // 16}
    spec = {"seed": 2, "topics": [topic]}
    source, table = str(bench.folder / "keyed"), str(bench.folder / "table")
    Path(source).mkdir()
    generate(bench.spark, spec, source)
    rows = records_of(bench.spark, source)
    now_ms = int(time.time() * 1000)

    def into(job: Callable[[str], None]) -> None:
        with tempfile.TemporaryDirectory(dir=bench.folder) as target:
            job(target)

    def write(target: str) -> None:
        rows.write.format("kafka_segments").mode("append").save(target)

    jobs: dict[str, Callable[[], object]] = {
        "export to Parquet": partial(export, bench.spark, source, table, mode="overwrite"),
        "writer": partial(into, write),
        "import": partial(into, partial(import_table, bench.spark, table)),
    }
    records = rows.count()
    costs = {name: [bench.measure(job) for _ in range(rounds)] for name, job in jobs.items()}
    job = partial(compact, bench.spark, source, [KEYED["name"]], now_ms=now_ms)
    costs["compact"] = [bench.measure(job)]  # another time there would be nothing to do
    for name, each in costs.items():
        by_wall = records / min(cost.seconds for cost in each) / 1e6
        by_cpu = records / min(cost.cpu_s for cost in each) / 1e6
        figure = f"{name} of {records:,} records of 100 B: {by_wall:.2f} M/s"
        print(f"{figure}, {by_cpu:.2f} M a CPU-s", flush=True)


def run_shape(bench: Bench, shape: Shape, size_bytes: int, rounds: int) -> None:
    """One data set: a line a reader, then the ratios."""
    with bench.data_set(shape, size_bytes) as records:
        costs = read_all(bench, shape, records, rounds)
        print(f"{shape.title}: {records:,} records")
        for name, each in costs.items():
            print(told(name, records, each))
        print(*ratios(shape, costs), sep="\n", flush=True)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mib", type=int, default=512, help="size of a data set, uncompressed")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--values", default="100,1000", help="value sizes in bytes")
    parser.add_argument("--codecs", default="none,lz4,zstd")
    parser.add_argument("--generate-mib", type=int, default=2048, help="size of the last log")
    parser.add_argument("--tables-mib", type=int, default=512, help="size of what is exported")
    options = parser.parse_args()
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"PySpark {pyspark.__version__}, connector {CONNECTOR_VERSION}, "
        f"{implementations()}",
        flush=True,
    )
    with tempfile.TemporaryDirectory(prefix="spark-") as name, started(Path(name)) as bench:
        for value_bytes in map(int, options.values.split(",")):
            for codec in options.codecs.split(","):
                run_shape(bench, Shape(value_bytes, codec), options.mib * MIB, options.rounds)
        run_jobs(bench, options.generate_mib * MIB, options.rounds)
        run_tables(bench, options.tables_mib * MIB, options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
