"""A producer with kafka-python; `tests.conformance.clients` lists its commands."""

from collections.abc import Iterable
from functools import partial

from kafka import KafkaProducer, TopicPartition

from tests.conformance.python.lines import options, serve
from tests.conformance.python.load import Load, acked, lost

TIMEOUT_S = 30


class Writer:
    """Executes the commands."""

    def __init__(self, given: dict[str, str]) -> None:
        self._topic = given["topic"]
        self._load: Load | None = None
        self._producer = KafkaProducer(
            bootstrap_servers=given["bootstrap"].split(","),
            enable_idempotence=given["idempotent"] == "true",
            acks="all" if given["acks"] == "all" else int(given["acks"]),
            linger_ms=0,
            request_timeout_ms=int(given["request_ms"]),
            delivery_timeout_ms=int(given["delivery_ms"]),
            retry_backoff_ms=50,
            reconnect_backoff_max_ms=500,
            metadata_max_age_ms=2000,
        )

    def execute(self, command: list[str]) -> Iterable[object]:
        """Execute one."""
        match command:
            case ["send", partition, value]:
                sent = self._producer.send(self._topic, value.encode(), partition=int(partition))
                return partition, sent.get(TIMEOUT_S).offset
            case ["load", partitions]:
                self._load = Load(self._write, int(partitions))
            case ["stop"]:
                assert self._load is not None
                self._load.stop()
                self._producer.flush(TIMEOUT_S)
            case ["leaders"]:
                found = sorted(self._producer.partitions_for(self._topic))
                cluster = self._producer._metadata
                leader = cluster.leader_for_partition
                return [f"{each}:{leader(TopicPartition(self._topic, each))}" for each in found]
        return ()

    def _write(self, partition: int, number: int) -> None:
        sent = self._producer.send(self._topic, str(number).encode(), partition=partition)
        sent.add_callback(lambda record: acked(partition, record.offset, number))
        sent.add_errback(partial(lost, partition, number))


if __name__ == "__main__":
    serve(Writer(options()).execute)
