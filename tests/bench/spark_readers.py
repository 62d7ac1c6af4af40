"""The ways by which Spark reads one topic, the processes that take part, and what they cost."""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import psutil
from pyspark.sql import DataFrame, SparkSession

from broker_lite.pipeline.spark.session import session
from tests.bench.load_client import cpu_s, delete_topic
from tests.bench.spark_topics import HOST, Shape, batches_of, fill
from tests.pipeline.connector.jars import connector_jars
from tests.support.broker_process import BrokerProcess
from tests.support.reference_kafka import ReferenceKafka

MANY: Final = {"kafka.max.poll.records": "10000"}
OURS, CONNECTOR, CONNECTOR_MANY, PARQUET = "segments", "kafka", "kafka 10000", "parquet"
LITE, LITE_MANY = "broker-lite", "broker-lite 10000"


class Cost(NamedTuple):
    """What one run took; worker_cpu_s is the part of cpu_s that Python had."""

    seconds: float
    cpu_s: float
    worker_cpu_s: float
    broker_cpu_s: float


class Reader(NamedTuple):
    """One way to the records; pid is that of the broker that it asks."""

    name: str
    frame: Callable[[Shape], DataFrame]
    pid: int | None = None


class Bench:
    """The processes that take part, and what they cost."""

    def __init__(
        self, spark: SparkSession, kafka: ReferenceKafka, lite: BrokerProcess, folder: Path
    ) -> None:
        self.spark = spark
        self.kafka = kafka
        self.lite = lite
        self.folder = folder
        jvm = spark.sparkContext._jvm
        assert jvm is not None
        self._jvm = jvm
        self._java = psutil.Process(jvm.java.lang.ProcessHandle.current().pid())
        self._workers_cpu_s: dict[int, float] = {}

    def readers(self) -> list[Reader]:
        """All ways to the records of a shape; the same options of both brokers side by side."""
        kafka, lite = self.kafka, self.lite
        return [
            Reader(OURS, self._segments),
            Reader(CONNECTOR, lambda shape: self._connector(kafka.bootstrap, shape), kafka.pid),
            Reader(LITE, lambda shape: self._connector(lite.bootstrap, shape), lite.pid),
            Reader(
                CONNECTOR_MANY,
                lambda shape: self._connector(kafka.bootstrap, shape, MANY),
                kafka.pid,
            ),
            Reader(LITE_MANY, lambda shape: self._connector(lite.bootstrap, shape, MANY), lite.pid),
            Reader(PARQUET, lambda shape: self.spark.read.parquet(self._parquet(shape))),
        ]

    @contextmanager
    def data_set(self, shape: Shape, size_bytes: int) -> Iterator[int]:
        """Write the records to both brokers and to Parquet; gives their count."""
        batches = batches_of(shape)
        ports = (self.kafka.port, self.lite.port)
        records = {fill(port, shape, batches, size_bytes) for port in ports}
        codec = shape.codec.replace("none", "uncompressed").replace("lz4", "lz4_raw")
        self._segments(shape).write.parquet(self._parquet(shape), compression=codec)
        yield records.pop()
        for port in ports:
            delete_topic(HOST, port, shape.topic)
        shutil.rmtree(self._parquet(shape))

    def measure(self, run: Callable[[], object], pid: int | None = None) -> Cost:
        """Run something once.

        Java's garbage goes first: a collection that runs beside a read takes half a second of CPU,
        and with readers in a fixed order that fell on the same one of them again and again.
        """
        self._jvm.java.lang.System.gc()
        before, started = self._cpu_s(pid), time.perf_counter()
        run()
        seconds = time.perf_counter() - started
        java, workers, broker = (
            now - then for now, then in zip(self._cpu_s(pid), before, strict=True)
        )
        return Cost(seconds, java + workers, workers, broker)

    def _segments(self, shape: Shape) -> DataFrame:
        reader = self.spark.read.format("kafka_segments").option("subscribe", shape.topic)
        return reader.load(str(self.kafka.log_dir))

    def _connector(
        self, bootstrap: str, shape: Shape, options: Mapping[str, str] | None = None
    ) -> DataFrame:
        reader = self.spark.read.format("kafka").options(**(options or {}))
        reader = reader.option("kafka.bootstrap.servers", bootstrap)
        return reader.option("subscribe", shape.topic).load()

    def _parquet(self, shape: Shape) -> str:
        return str(self.folder / f"{shape.topic}.parquet")

    def _cpu_s(self, pid: int | None) -> tuple[float, float, float]:
        """CPU so far: of Java, of the Python workers, of a broker.

        Spark ends a worker that has nothing to do, so what each has had is kept.
        """
        for worker in self._java.children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                self._workers_cpu_s[worker.pid] = _own_cpu_s(worker)
        workers = sum(self._workers_cpu_s.values())
        return _own_cpu_s(self._java), workers, cpu_s(pid) if pid else 0.0


def _own_cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


@contextmanager
def started(folder: Path) -> Iterator[Bench]:
    """Start both brokers and Spark."""
    conf = {
        "spark.driver.memory": "1g",
        # A virtual machine may get its memory from its host at the first write: measured, 1 ms a
        # MB, which rows told by chance then. So the heap is touched, and does not shrink.
        "spark.driver.extraJavaOptions": "-Xms1g -XX:+AlwaysPreTouch",
        "spark.local.dir": str(folder / "local"),
        "spark.jars": ",".join(map(str, connector_jars())),
        "spark.ui.showConsoleProgress": "false",
    }
    with (
        ReferenceKafka(folder / "kafka", settings={"log.segment.delete.delay.ms": "0"}) as kafka,
        BrokerProcess(folder / "lite") as lite,
    ):
        spark = session("bench", "local[2]", conf)
        spark.sparkContext.setLogLevel("ERROR")
        try:
            yield Bench(spark, kafka, lite, folder)
        finally:
            spark.stop()
