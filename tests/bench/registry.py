"""Values with a schema by Spark, beside the raw bytes: records a second and CPU.

    python -m tests.bench.registry [--records 300000] [--rounds 3]

The same orders as Avro and as Protobuf, in the log of one partition, read by one task into the noop
sink: as bytes, by the reader's option, and by the expression. Beside them is Spark's own
from_avro(), in Java, behind a cut of the frame; it knows one schema, and fails at a message of
another one. Maven fetches its jar. The first round of each is the cold one: its worker starts,
imports the libraries and asks the registry. CPU is that of Java and its Python workers. The ways
take turns.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import psutil
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from broker_lite.pipeline.spark.registry import from_avro_registry, from_protobuf_registry
from broker_lite.pipeline.spark.session import session
from tests.pipeline.registry import avro_messages, protobuf_messages
from tests.pipeline.registry.avro_messages import field, record
from tests.pipeline.support import NewRecord, Partition
from tests.support.registry_server import RegistryServer
from tests.support.toolchain import user_cache

BATCH: Final = 1000
SPARK_AVRO: Final = "org.apache.spark:spark-avro_2.13:4.2.0"
FRAME_BYTES: Final = 5
ORDER: Final = record(
    field("id", "long"),
    field("customer", "string"),
    field("amount", "double"),
    field("state", "string"),
    field("note", ["null", "string"]),
    field("at", {"type": "long", "logicalType": "timestamp-micros"}),
    name="Order",
)
PROTO: Final = (
    'syntax = "proto3"; message Order { int64 id = 1; string customer = 2; double amount = 3;'
    " string state = 4; optional string note = 5; int64 at = 6; }"
)


def value_of(number: int) -> dict[str, object]:
    """An order of about 50 bytes."""
    return {
        "id": number,
        "customer": f"customer-{number % 1000}",
        "amount": number / 4,
        "state": "PAID",
        "note": None if number % 2 else "leave it at the door",
        "at": 1_800_000_000_000_000 + number,
    }


def fill(root: Path, records: int, ids: tuple[int, int]) -> None:
    """Write the orders of both formats."""
    made = protobuf_messages.message_class(protobuf_messages.stored(PROTO), "Order")
    makers: dict[str, Callable[[int], bytes]] = {
        "avro": lambda number: avro_messages.encoded(ORDER, value_of(number), ids[0]),
        "protobuf": lambda number: protobuf_messages.framed(
            made(**value_of(number)), b"\0", ids[1]
        ),
    }
    for topic, encoded in makers.items():
        messages = [NewRecord(None, encoded(number)) for number in range(BATCH)]
        with Partition(root, topic) as partition:
            for _ in range(records // BATCH):
                partition.append(messages)


def avro_jar() -> Path:
    """The jar with from_avro(), which PySpark does not bring; fetched at the first call."""
    _, name, version = SPARK_AVRO.split(":")
    folder = user_cache(f"{name}-{version}")
    if not any(folder.glob("*.jar")):
        goal = ["dependency:copy", f"-Dartifact={SPARK_AVRO}", f"-DoutputDirectory={folder}"]
        subprocess.run(["mvn", "-q", "-B", *goal], check=True)
    return next(folder.glob("*.jar"))


def ways(spark: SparkSession, root: Path, url: str) -> dict[str, Callable[[], DataFrame]]:
    """The ways to read, by their names."""

    def load(topic: str, **options: str) -> DataFrame:
        given = {name.replace("_", "."): text for name, text in options.items()}
        reader = spark.read.format("kafka_segments").option("subscribe", topic)
        return reader.options(columns="value", **given).load(str(root))

    avro = {"value_format": "avro", "schema_registry": url}
    return {
        "avro raw": lambda: load("avro"),
        "avro option": lambda: load("avro", **avro),
        "avro expression": lambda: load("avro").select(
            from_avro_registry("value", url, subject="avro-value")
        ),
        "avro by Spark": lambda: load("avro").select(
            from_avro(
                F.expr(f"substring(value, {FRAME_BYTES + 1})"), avro_messages.stored(ORDER).text
            )
        ),
        "protobuf raw": lambda: load("protobuf"),
        "protobuf option": lambda: load("protobuf", **{**avro, "value_format": "protobuf"}),
        "protobuf expression": lambda: load("protobuf").select(
            from_protobuf_registry("value", url, subject="protobuf-value")
        ),
    }


def cpu_s(java: psutil.Process, kept: dict[int, float]) -> float:
    """CPU so far of Java and of all workers that it had."""
    for process in (java, *java.children(recursive=True)):
        times = process.cpu_times()
        kept[process.pid] = times.user + times.system
    return sum(kept.values())


def run(records: int, rounds: int, folder: Path) -> None:
    """Print a line for each way."""
    with RegistryServer() as registry:
        ids = (
            registry.register("avro-value", avro_messages.stored(ORDER).text),
            registry.register("protobuf-value", PROTO, "PROTOBUF"),
        )
        fill(folder, records, ids)
        conf = {"spark.ui.showConsoleProgress": "false", "spark.jars": str(avro_jar())}
        spark = session("registry", "local[1]", conf)
        spark.sparkContext.setLogLevel("ERROR")
        java = next(each for each in psutil.Process().children() if "java" in each.name())
        kept: dict[int, float] = {}
        costs: dict[str, list[tuple[float, float]]] = {}
        for _ in range(rounds + 1):
            for name, way in ways(spark, folder, registry.url).items():
                before, began = cpu_s(java, kept), time.perf_counter()
                way().write.format("noop").mode("overwrite").save()
                wall = time.perf_counter() - began
                costs.setdefault(name, []).append((wall, cpu_s(java, kept) - before))
        spark.stop()
    millions = records / 1e6
    print(f"{records:,} records, rounds taking turns; cold, then the best of {rounds} warm ones")
    for name, ((cold, cold_cpu), *warm) in costs.items():
        wall, cpu = min(wall for wall, _ in warm), min(cpu for _, cpu in warm)
        print(
            f"{name:20} {records / cold:>10,.0f}/s {cold_cpu / millions:6.1f} CPU s/M,"
            f" warm {records / wall:>10,.0f}/s {cpu / millions:6.1f} CPU s/M"
        )


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(options.records, options.rounds, Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
