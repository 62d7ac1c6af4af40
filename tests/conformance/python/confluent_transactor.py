"""A transactional producer with confluent-kafka; `tests.conformance.clients` lists its commands."""

from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tests.conformance.python.lines import options, serve

TIMEOUT_S = 30


class Transactor:
    """Executes the commands."""

    def __init__(self, given: dict[str, str]) -> None:
        self._bootstrap = given["bootstrap"]
        self._topic = given["topic"]
        self._failures: list[object] = []
        self._producer = Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "transactional.id": given["transactional_id"],
                "transaction.timeout.ms": int(given["timeout_ms"]),
                "linger.ms": 0,
            }
        )

    def execute(self, command: list[str]) -> Iterable[object]:
        """Execute one."""
        match command:
            case ["init"]:
                self._producer.init_transactions(TIMEOUT_S)
            case ["begin"]:
                self._producer.begin_transaction()
            case ["send", partition, value]:
                self._send(int(partition), value)
            case ["offset", group, topic, partition, offset]:
                position = TopicPartition(topic, int(partition), int(offset))
                consumer = Consumer({"bootstrap.servers": self._bootstrap, "group.id": group})
                metadata = consumer.consumer_group_metadata()
                self._producer.send_offsets_to_transaction([position], metadata, TIMEOUT_S)
                consumer.close()
            case ["commit"]:
                self._producer.commit_transaction(TIMEOUT_S)
            case ["abort"]:
                self._producer.abort_transaction(TIMEOUT_S)
        return ()

    def _send(self, partition: int, value: str) -> None:
        self._producer.produce(
            self._topic, value.encode(), partition=partition, on_delivery=self._delivered
        )
        self._producer.flush(TIMEOUT_S)
        if self._failures:
            raise KafkaException(self._failures.pop())

    def _delivered(self, error: object, _: object) -> None:
        if error is not None:
            self._failures.append(error)


if __name__ == "__main__":
    serve(Transactor(options()).execute)
