"""A member of a share group with confluent-kafka; `tests.conformance.clients` has its commands."""

from collections.abc import Iterable

from confluent_kafka import AcknowledgeType, KafkaException, Message, ShareConsumer

from tests.conformance.python.lines import emit, options, serve

TIMEOUT_S = 15


class Sharer:
    """Executes the commands."""

    def __init__(self, given: dict[str, str]) -> None:
        settings: dict[str, str | int] = {
            "bootstrap.servers": given["bootstrap"],
            "group.id": given["group"],
            "share.acknowledgement.mode": given["mode"],
            "metadata.recovery.strategy": "none",  # else it begins anew when all brokers are away
            "reconnect.backoff.max.ms": 500,
            "fetch.wait.max.ms": 100,
        }
        if "max" in given:
            settings["max.poll.records"] = int(given["max"])
        self._held: dict[str, Message] = {}
        self._consumer = ShareConsumer(settings)
        self._consumer.subscribe([given["topic"]])

    def execute(self, command: list[str]) -> Iterable[object]:
        """Execute one."""
        match command:
            case ["take", wait_ms]:
                return [self._take(int(wait_ms))]
            case ["say", kind, *values]:
                for value in values:
                    self._consumer.acknowledge(self._held[value], AcknowledgeType[kind.upper()])
            case ["commit"]:
                self._commit()
        return ()

    def _take(self, wait_ms: int) -> int:
        self._held.clear()
        for record in self._consumer.poll(wait_ms / 1000):
            if (error := record.error()) is not None:
                raise KafkaException(error)
            value = (record.value() or b"").decode()
            self._held[value] = record
            emit("got", record.partition(), record.offset(), value, record.delivery_count())
        return len(self._held)

    def _commit(self) -> None:
        for refusal in self._consumer.commit_sync(TIMEOUT_S).values():
            if refusal is not None:
                raise refusal

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close()


if __name__ == "__main__":
    sharer = Sharer(options())
    serve(sharer.execute)
    sharer.close()
