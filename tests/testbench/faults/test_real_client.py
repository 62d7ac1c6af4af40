"""A real client meets faults of a real broker: a lost acknowledgement, a bad checksum, a reset."""

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from broker_lite.testing import Broker

TOPIC = "orders"
TIMEOUT_S = 20


@pytest.fixture
def broker(broker_factory: Callable[..., Broker]) -> Broker:
    return broker_factory(topics=[TOPIC])


def fault(broker: Broker, **rule: Any) -> str:
    added: Any = broker.control("POST", "/v1/faults", rule)
    return str(added["id"])


def state(broker: Broker, fault_id: str) -> Any:
    return broker.control("GET", f"/v1/faults/{fault_id}")


def produce(broker: Broker, count: int, **config: Any) -> list[Any]:
    producer = Producer({"bootstrap.servers": broker.bootstrap, **config})
    errors: list[Any] = []
    for number in range(count):
        producer.produce(TOPIC, b"%d" % number, on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(TIMEOUT_S) == 0
    return errors


def consume(broker: Broker, count: int) -> list[Any]:
    """Values and errors, until there are so many values."""
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": "g", "check.crcs": True}
    )
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    found: list[Any] = []
    while sum(isinstance(each, bytes) for each in found) < count:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None, found
        error = message.error()
        found.append(message.value() if error is None else error.code())
    consumer.close()
    return found


def test_a_lost_acknowledgement_makes_no_duplicate(broker: Broker) -> None:
    lost = fault(broker, keys=["Produce"], topic=TOPIC, error="REQUEST_TIMED_OUT")
    assert produce(broker, 3, **{"enable.idempotence": True}) == [None] * 3
    assert state(broker, lost)["hits"] == 1
    produce(broker, 1)
    assert consume(broker, 4) == [b"0", b"1", b"2", b"0"]


def test_a_bad_checksum_is_noticed(broker: Broker) -> None:
    produce(broker, 2)
    poison = fault(broker, keys=["Fetch"], topic=TOPIC, poison="bad-crc")
    found = consume(broker, 2)
    assert [each for each in found if isinstance(each, bytes)] == [b"0", b"1"]
    assert KafkaError._BAD_MSG in found
    assert state(broker, poison)["hits"] == 1


def test_a_connection_that_is_reset_comes_again(broker: Broker) -> None:
    reset = fault(broker, keys=["Produce"], drop="after", reset=True)
    assert produce(broker, 2, **{"enable.idempotence": True}) == [None] * 2
    assert state(broker, reset)["hits"] == 1
    assert consume(broker, 2) == [b"0", b"1"]
