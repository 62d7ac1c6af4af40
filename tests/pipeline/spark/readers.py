"""Two readers of the same records: our source from the files, Spark's connector from the broker."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.pipeline.connector.topics import Broker
from tests.support.broker_process import BrokerProcess
from tests.support.reference_kafka import ReferenceKafka

BROKERS: Final = ("kafka", "broker-lite")
# The records are years old, and shall not be deleted for that; where logs start is noted at once.
SETTINGS: Final = {
    "num.partitions": "2",
    "log.retention.ms": "-1",
    "log.flush.start.offset.checkpoint.interval.ms": "100",
    "log.initial.task.delay.ms": "100",
    "log.cleaner.backoff.ms": "100",
}
SHOWN_MAX: Final = 5
# Without it, each partition ends in a long poll, and each wrong offset in waiting.
NO_WAITING: Final = {
    "kafka.fetch.max.wait.ms": "1",
    "fetchOffset.numRetries": "1",
    "fetchOffset.retryIntervalMs": "1",
}
REFUSALS: Final = (PySparkException, Py4JJavaError)

Options = Mapping[str, str]


class Written(NamedTuple):
    """A running broker and the directory with its files."""

    broker: Broker
    directory: Path


@contextmanager
def running_broker(name: str, folder: Path) -> Iterator[Written]:
    """Start one of BROKERS with its data in a folder; a Kafka's is removed."""
    if name == "kafka":
        with ReferenceKafka(folder / "kafka", settings=SETTINGS, heap="500m") as kafka:
            yield Written(Broker("127.0.0.1", kafka.port), kafka.log_dir)
        kafka.remove()
        return
    settings = [f"{name}={value}" for name, value in SETTINGS.items()]
    with BrokerProcess(folder / "data", settings=settings) as broker:
        yield Written(Broker(broker.host, broker.port), broker.data_dir)


class Readers(NamedTuple):
    """The two that are compared, over the same records."""

    spark: SparkSession
    written: Written

    def ours(self, options: Options) -> DataFrame:
        """From the files."""
        reader = self.spark.read.format("kafka_segments").options(**options)
        return reader.load(str(self.written.directory))

    def connector(self, options: Options) -> DataFrame:
        """From the broker."""
        reader = self.spark.read.format("kafka").options(**NO_WAITING).options(**options)
        return reader.option("kafka.bootstrap.servers", self.written.broker.bootstrap).load()

    def differences(self, options: Options) -> list[str]:
        """The first rows that only one of them has."""
        ours, connector = self.ours(options).cache(), self.connector(options).cache()
        assert ours.schema == connector.schema
        lacking = connector.exceptAll(ours).selectExpr("'lacking' AS what", "*")
        extra = ours.exceptAll(connector).selectExpr("'extra' AS what", "*")
        try:
            return [str(row.asDict())[:500] for row in lacking.union(extra).take(SHOWN_MAX)]
        finally:
            ours.unpersist()
            connector.unpersist()
