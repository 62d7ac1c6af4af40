"""A producer with confluent-kafka; `tests.conformance.clients` lists its commands."""

from collections.abc import Iterable

from confluent_kafka import KafkaException, Message, Producer

from tests.conformance.python.lines import options, serve
from tests.conformance.python.load import Load, acked, lost

TIMEOUT_S = 30


class Writer:
    """Executes the commands."""

    def __init__(self, given: dict[str, str]) -> None:
        self._topic = given["topic"]
        self._load: Load | None = None
        self._answers: list[Message | KafkaException] = []
        self._producer = Producer(
            {
                "bootstrap.servers": given["bootstrap"],
                "enable.idempotence": given["idempotent"] == "true",
                "acks": given["acks"],
                "linger.ms": 0,
                "request.timeout.ms": int(given["request_ms"]),
                "socket.timeout.ms": int(given["request_ms"]),
                "message.timeout.ms": int(given["delivery_ms"]),
                "retry.backoff.ms": 50,
                "retry.backoff.max.ms": 300,
                "reconnect.backoff.max.ms": 500,
                "topic.metadata.refresh.interval.ms": 2000,
            }
        )

    def execute(self, command: list[str]) -> Iterable[object]:
        """Execute one."""
        match command:
            case ["send", partition, value]:
                return self._send(int(partition), value)
            case ["load", partitions]:
                self._load = Load(self._write, int(partitions))
            case ["stop"]:
                assert self._load is not None
                self._load.stop()
                self._producer.flush(TIMEOUT_S)
            case ["leaders"]:
                found = self._producer.list_topics(self._topic, TIMEOUT_S).topics[self._topic]
                return [f"{number}:{each.leader}" for number, each in found.partitions.items()]
        return ()

    def _send(self, partition: int, value: str) -> Iterable[object]:
        self._producer.produce(
            self._topic, value.encode(), partition=partition, on_delivery=self._answered
        )
        self._producer.flush(TIMEOUT_S)
        answer = self._answers.pop()
        if isinstance(answer, KafkaException):
            raise answer
        return partition, answer.offset()

    def _answered(self, error: object, message: Message) -> None:
        self._answers.append(message if error is None else KafkaException(error))

    def _write(self, partition: int, number: int) -> None:
        def delivered(error: object, message: Message) -> None:
            if error is None:
                acked(partition, message.offset() or 0, number)
            else:
                lost(partition, number, KafkaException(error))

        self._producer.produce(
            self._topic, str(number).encode(), partition=partition, on_delivery=delivered
        )
        self._producer.poll(0)


if __name__ == "__main__":
    serve(Writer(options()).execute)
