"""Topics of a broker that a real client's serializers write, by the schemas of a registry."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.sql import DataFrame, SparkSession

from tests.support.broker_process import BrokerProcess
from tests.support.registry_server import RegistryServer

USER_INFO = "me:secret"


class Logs:
    """A broker's log with topics that were written by a registry's schemas."""

    def __init__(self, broker: BrokerProcess, registry: RegistryServer) -> None:
        self.folder = broker.data_dir
        self.registry = registry
        self.client = SchemaRegistryClient({"url": registry.url, "basic.auth.user.info": USER_INFO})
        self._bootstrap = broker.bootstrap

    def write(self, topic: str, values: list[bytes | None], key: bytes | None = None) -> None:
        producer = Producer({"bootstrap.servers": self._bootstrap})
        for value in values:
            producer.produce(topic, value, key)
        assert producer.flush(30) == 0

    def encoded(
        self, topic: str, serializer: Callable[..., bytes | None], values: list[Any]
    ) -> list[bytes | None]:
        context = SerializationContext(topic, MessageField.VALUE)
        return [serializer(value, context) for value in values]


@contextmanager
def started(folder: Path) -> Iterator[Logs]:
    """A broker with its data in a folder, beside a registry."""
    with RegistryServer(USER_INFO) as registry, BrokerProcess(folder / "data") as broker:
        yield Logs(broker, registry)


def load(spark: SparkSession, logs: Logs, topic: str, **options: str) -> DataFrame:
    reader = spark.read.format("kafka_segments").option("subscribe", topic)
    if "value_format" in options:
        # The variable of the test is not one of Java's, which the data source is a child of.
        reader = reader.option("schema.registry.basic.auth.user.info", USER_INFO)
    for name, value in options.items():
        reader = reader.option(name.replace("_", "."), value)
    return reader.load(str(logs.folder))
