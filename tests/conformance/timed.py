"""How long a producer and a consumer take for records of a kilobyte over a slow network."""

import time
from collections.abc import Mapping

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

TIMEOUT_S = 60.0
MEGABYTE = 1_000_000
COUNT = 1000
VALUE = b"v" * (MEGABYTE // COUNT)

Config = Mapping[str, object]
"""Where the broker is, and how to log in."""


class Throttled:
    """The throttle times that a client was told: a slow network tells none."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def __call__(self, event: object) -> None:
        if event.throttle_time:  # type: ignore[attr-defined]
            self.times.append(event.throttle_time)  # type: ignore[attr-defined]


def alter(config: Config, kind: ResourceType, name: str, values: Mapping[str, object]) -> None:
    """Set configs of a broker or a topic."""
    entries = [
        ConfigEntry(key, str(value), incremental_operation=AlterConfigOpType.SET)
        for key, value in values.items()
    ]
    resource = ConfigResource(kind, name, incremental_configs=entries)
    admin = AdminClient({**config})
    admin.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)


def produce(config: Config, topic: str, count: int = COUNT, **settings: object) -> float:
    """How long a producer takes for so many records, from its first record on."""
    throttled = Throttled()
    producer = Producer({**config, "linger.ms": 5, "throttle_cb": throttled, **settings})
    begin = time.monotonic()
    for _ in range(count):
        producer.produce(topic, VALUE, partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    assert throttled.times == []
    return time.monotonic() - begin


def consume(config: Config, topic: str, count: int = COUNT) -> float:
    """How long a consumer takes for so many records of partition 0, from its start on."""
    throttled = Throttled()
    consumer = Consumer(
        {**config, "group.id": "nobody", "check.crcs": True, "throttle_cb": throttled}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    begin, values = time.monotonic(), []
    while len(values) < count:
        values += [message.value() for message in consumer.consume(count, 1.0)]
        assert time.monotonic() - begin < TIMEOUT_S
    consumer.close()
    assert values == [VALUE] * count
    assert throttled.times == []
    return time.monotonic() - begin
