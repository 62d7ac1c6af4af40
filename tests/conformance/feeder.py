"""A producer that writes numbered records in the background, over all partitions of a topic."""

import threading
from typing import Final, Self

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

PARTITIONS: Final = 6
TIMEOUT_S: Final = 30
PAUSE_S: Final = 0.02


def create_topic(
    bootstrap: str, topic: str, partitions: int = PARTITIONS, replicas: int = 1
) -> None:
    """Create a topic and wait until the broker has it."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, partitions, replicas)])[topic].result(TIMEOUT_S)


class Feeder:
    """Writes one record a partition, pauses, and so on; a context manager.

    Attributes:
        ends: acknowledged records by partition; right after `stop`.
    """

    def __init__(self, bootstrap: str, topic: str, *, pause_s: float = PAUSE_S) -> None:
        self.ends = dict.fromkeys(range(PARTITIONS), 0)
        self._pause_s = pause_s
        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 0,
                "log_level": 2,  # that the broker is gone is what some tests are about
            }
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feeder")

    def _run(self) -> None:
        number = 0
        while not self._stopping.wait(self._pause_s):
            for partition in self.ends:
                self._producer.produce(
                    self._topic, b"%d" % number, partition=partition, on_delivery=self._delivered
                )
            number += 1
            self._producer.poll(0)

    def _delivered(self, error: object, message: object) -> None:
        assert error is None, error
        self.ends[message.partition()] = message.offset() + 1  # type: ignore[attr-defined]

    def stop(self) -> dict[int, int]:
        """End it and give the end offsets."""
        if not self._stopping.is_set():
            self._stopping.set()
            self._thread.join()
            assert self._producer.flush(TIMEOUT_S) == 0
        return self.ends

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
