"""Topics that a seed chooses, written by librdkafka, and options to read them by."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, Final

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.pipeline.connector.topics import (
    CODECS,
    HEADERS,
    KEYS,
    SEGMENT_BYTES,
    T0,
    TIMEOUT_S,
    VALUES,
    Broker,
    Headers,
    wait_for_checkpoint,
)

PARTITIONS_MAX: Final = 3
WRITERS_MAX: Final = 6
RECORDS_MAX: Final = 150
"""Of a writer at a time."""
STEP_MS: Final = 1000
"""About how far the timestamps of neighbours are apart."""
LARGE_BYTES: Final = 60_000
LATE_MS: Final = 20_000

Key = tuple[str, int]


class RandomTopics:
    """Topics of a seed in a broker.

    Args:
        seed: the same seed makes the same records and the same options.
        count: of topics.

    Attributes:
        ends: of each partition the first offset and the one behind the last.
    """

    def __init__(self, seed: int, count: int) -> None:
        self._chance = Random(seed)
        names = [f"random-{number}" for number in range(count)]
        self._partitions = {name: self._chance.randint(1, PARTITIONS_MAX) for name in names}
        self.ends: dict[Key, tuple[int, int]] = {}

    def write(self, broker: Broker) -> None:
        """Create and fill the topics; some transactions stay open."""
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        created = admin.create_topics(
            [
                NewTopic(name, count, 1, config=self._config())
                for name, count in self._partitions.items()
            ]
        )
        for future in created.values():
            future.result(TIMEOUT_S)
        for name in self._partitions:
            for number in range(self._chance.randint(0, WRITERS_MAX)):
                self._write(broker, name, number)
        self._measure(broker)

    def delete_records(self, broker: Broker, log_dir: Path) -> None:
        """Let some logs begin later, and wait until the broker has noted it."""
        starts = {
            key: self._chance.randint(1, end)
            for key, (_, end) in self.ends.items()
            if end and self._chance.random() < 0.3
        }
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        asked = [TopicPartition(*key, start) for key, start in starts.items()]
        for future in (admin.delete_records(asked) if asked else {}).values():
            future.result(TIMEOUT_S)
        wait_for_checkpoint(log_dir / "log-start-offset-checkpoint", starts)
        self._measure(broker)

    def options(self) -> dict[str, str]:
        """Choose what to read, how much of it, and how."""
        chosen = self._choose(self._selections())
        keys = [key for key in self.ends if key in chosen[1]]
        options = {**chosen[0], "includeHeaders": self._choose(["true", "false"])}
        options |= self._choose([{}, *self._starts(keys)])
        options |= self._choose([{}, *self._endings(keys)])
        options |= self._choose([{}, {"kafka.isolation.level": "read_committed"}])
        options |= self._choose([{}, {"minPartitions": str(self._chance.randint(1, 9))}])
        options |= self._choose([{}, {"maxRecordsPerPartition": str(self._chance.randint(9, 300))}])
        options |= self._choose([{}, {"maxSplitBytes": str(self._chance.randint(5_000, 200_000))}])
        options |= self._choose([{}, {"startingOffsetsByTimestampStrategy": "latest"}])
        return options | self._choose([{}, {"failOnDataLoss": "false"}])

    def _choose(self, options: list[Any]) -> Any:
        return self._chance.choice(options)

    def _config(self) -> dict[str, str]:
        return {
            "segment.bytes": str(SEGMENT_BYTES),
            "message.timestamp.type": self._choose(["CreateTime", "CreateTime", "LogAppendTime"]),
            "compression.type": self._choose(["producer", "producer", "uncompressed", *CODECS[1:]]),
        }

    def _write(self, broker: Broker, topic: str, number: int) -> None:
        """Write by a producer of its own: plain, idempotent, or in transactions."""
        kind = self._choose(["plain", "idempotent", "commit", "abort", "open"])
        settings: dict[str, str | int] = {
            "compression_type": self._choose(list(CODECS)),
            "batch_size": self._choose([2_000, 20_000, 1_000_000]),
            "enable_idempotence": str(kind != "plain").lower(),
        }
        if kind in ("plain", "idempotent"):
            self._records(broker.producer(**settings), topic)
            return
        name = {"transactional_id": f"{topic}-{number}", "transaction_timeout_ms": 900_000}
        producer = broker.producer(**settings, **name)
        producer.init_transactions(TIMEOUT_S)
        for _ in range(self._chance.randint(1, 3)):
            producer.begin_transaction()
            self._records(producer, topic)
            if kind == "open":
                return
            if kind == "commit":
                producer.commit_transaction(TIMEOUT_S)
            else:
                producer.abort_transaction(TIMEOUT_S)

    def _records(self, producer: Producer, topic: str) -> None:
        for index in range(self._chance.randint(1, RECORDS_MAX)):
            producer.produce(
                topic,
                self._bytes(VALUES, LARGE_BYTES),
                self._bytes(KEYS, 100),
                partition=self._chance.randrange(self._partitions[topic]),
                timestamp=T0 + index * STEP_MS - self._chance.randint(0, LATE_MS),
                headers=self._headers(),
            )
            producer.poll(0)
        producer.flush(TIMEOUT_S)

    def _bytes(self, known: tuple[bytes | None, ...], bytes_max: int) -> bytes | None:
        if self._chance.random() < 0.5:
            return self._choose(list(known))
        return self._chance.randbytes(int(bytes_max ** self._chance.random()))

    def _headers(self) -> Headers:
        if self._chance.random() < 0.7:
            return self._choose(list(HEADERS))
        return [(self._text(), self._bytes(VALUES, 100)) for _ in range(self._chance.randint(1, 4))]

    def _text(self) -> str:
        points = (self._choose([0x7F, 0x7FF, 0xD7FF]) for _ in range(self._chance.randint(0, 8)))
        return "".join(chr(self._chance.randint(0, point)) for point in points)

    def _measure(self, broker: Broker) -> None:
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "measures"})
        try:
            for name, count in self._partitions.items():
                for number in range(count):
                    wanted = TopicPartition(name, number)
                    self.ends[name, number] = consumer.get_watermark_offsets(wanted, TIMEOUT_S)
        finally:
            consumer.close()

    def _selections(self) -> list[tuple[dict[str, str], set[Key]]]:
        names = self._chance.sample(sorted(self._partitions), self._chance.randint(1, 3))
        chosen = {key for key in self.ends if key[0] in names}
        assigned = set(self._chance.sample(sorted(chosen), self._chance.randint(1, len(chosen))))
        by_topic: dict[str, list[int]] = {}
        for topic, number in sorted(assigned):
            by_topic.setdefault(topic, []).append(number)
        return [
            ({"subscribePattern": "random-.*"}, set(self.ends)),
            ({"subscribe": ",".join(names)}, chosen),
            ({"assign": json.dumps(by_topic)}, assigned),
        ]

    def _starts(self, keys: list[Key]) -> Iterator[dict[str, str]]:
        yield {"startingOffsets": self._offsets(keys, -2)}
        yield {"startingTimestamp": str(self._time())}
        yield {"startingOffsetsByTimestamp": _by_topic({key: self._time() for key in keys})}

    def _endings(self, keys: list[Key]) -> Iterator[dict[str, str]]:
        yield {"endingOffsets": self._offsets(keys, -1)}
        yield {"endingTimestamp": str(self._time())}
        yield {"endingOffsetsByTimestamp": _by_topic({key: self._time() for key in keys})}

    def _offsets(self, keys: list[Key], extreme: int) -> str:
        chosen = {
            key: extreme if self._chance.random() < 0.2 else self._chance.randint(*self.ends[key])
            for key in keys
        }
        return _by_topic(chosen)

    def _time(self) -> int:
        return T0 + self._chance.randint(-2 * LATE_MS, RECORDS_MAX * STEP_MS * 6 // 5)


def _by_topic(numbers: Mapping[Key, int]) -> str:
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), number in numbers.items():
        found.setdefault(topic, {})[str(partition)] = number
    return json.dumps(found)
