"""Real clients at a slow topic and a fast one.

Times are lower bounds only: a machine may be slower.

See: P-18.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Producer
from confluent_kafka.admin import ResourceType
from kafka import KafkaProducer

from broker_lite.testing import Broker
from tests.conformance import timed
from tests.conformance.timed import COUNT, MEGABYTE, TIMEOUT_S, VALUE

pytestmark = pytest.mark.client

LONG_MS = 30_000


@pytest.fixture(scope="module", params=["plain", "sasl_ssl", "2 processes"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    settings = {"broker.lite.processes": "2"} if request.param == "2 processes" else {}
    security = "sasl_ssl" if request.param == "sasl_ssl" else ""
    with Broker(settings, security=security) as started:
        yield started


def configs(load: Mapping[str, object]) -> dict[str, object]:
    return {f"broker.lite.load.{name.replace('_', '.')}": value for name, value in load.items()}


def create(broker: Broker, topic: str, partitions: int = 1, **load: object) -> None:
    configs = {f"broker.lite.load.{name.replace('_', '.')}": value for name, value in load.items()}
    broker.create_topic(topic, partitions, configs)


def produce(broker: Broker, topic: str, count: int = COUNT, **settings: object) -> float:
    return timed.produce(broker.client_config("confluent"), topic, count, **settings)


def consume(broker: Broker, topic: str, count: int = COUNT) -> float:
    return timed.consume(broker.client_config("confluent"), topic, count)


def until_written(broker: Broker, topic: str, count: int) -> None:
    """Wait until a topic has so many records."""
    deadline_s = time.monotonic() + TIMEOUT_S
    while len(broker.records(topic)) < count:
        assert time.monotonic() < deadline_s


def alter(broker: Broker, topic: str, **load: object) -> None:
    config = broker.client_config("confluent", user="admin")
    timed.alter(config, ResourceType.TOPIC, topic, configs(load))


def test_p_18_a_producer_takes_its_time_and_those_of_other_topics_do_not(
    broker: Broker, topic: str
) -> None:
    create(broker, topic, in_byte_rate=MEGABYTE)
    create(broker, f"{topic}-fast")
    with ThreadPoolExecutor() as threads:
        slow = threads.submit(produce, broker, topic, 3 * COUNT)
        fast = threads.submit(produce, broker, f"{topic}-fast", COUNT)
        assert fast.result() < slow.result()
    assert slow.result() >= 2.9
    assert len(broker.records(topic)) == 3 * COUNT


def test_p_18_a_consumer_takes_its_time_and_those_of_other_topics_do_not(
    broker: Broker, topic: str
) -> None:
    create(broker, topic)
    create(broker, f"{topic}-fast")
    produce(broker, topic, 2 * COUNT)
    produce(broker, f"{topic}-fast")
    alter(broker, topic, out_byte_rate=MEGABYTE)
    with ThreadPoolExecutor() as threads:
        slow = threads.submit(consume, broker, topic, 2 * COUNT)
        fast = threads.submit(consume, broker, f"{topic}-fast")
        assert fast.result() < slow.result()
    assert slow.result() >= 1.9


def test_p_18_consumers_share_the_rate(broker: Broker, topic: str) -> None:
    create(broker, topic, out_byte_rate=MEGABYTE)
    produce(broker, topic)
    begin = time.monotonic()
    with ThreadPoolExecutor() as threads:
        ends = [threads.submit(consume, broker, topic) for _ in range(3)]
        assert all(each.result() >= 0.9 for each in ends)
    assert time.monotonic() - begin >= 2.8


def test_p_18_the_round_trip_of_a_topic(broker: Broker, topic: str) -> None:
    create(broker, topic, rtt_ms=300)
    assert produce(broker, topic, 1) >= 0.3
    assert produce(broker, topic, 1, acks=1) >= 0.3
    assert consume(broker, topic, 2) >= 0.3


def test_p_18_requests_in_flight_overlap(broker: Broker, topic: str) -> None:
    """20 requests, of which five are in flight: four round trips; one by one it would be ten s."""
    create(broker, topic, rtt_ms=500)
    one_a_request = {"batch.num.messages": 1, "linger.ms": 0}
    took_s = produce(broker, topic, 20, **one_a_request, **{"enable.idempotence": True})
    assert 2.0 <= took_s < 10.0


def test_p_18_a_change_is_for_those_who_wait(broker: Broker, topic: str) -> None:
    create(broker, topic, in_byte_rate=1000)
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(produce, broker, topic)
        until_written(broker, topic, 1)
        alter(broker, topic, in_byte_rate=0)
        waiting.result()
    assert len(broker.records(topic)) == COUNT


def test_p_18_acks_0(broker: Broker, topic: str) -> None:
    # The client has gone by the time at which its records have arrived. So it pushes no metrics:
    # the answer to its last push would find nobody, and the reset takes the records along.
    create(broker, topic, in_byte_rate=MEGABYTE)
    begin = time.monotonic()
    produce(broker, topic, 3 * COUNT, acks=0, **{"enable.metrics.push": False})
    until_written(broker, topic, 3 * COUNT)
    assert time.monotonic() - begin >= 1.9


@pytest.mark.asyncio
async def test_aiokafka_at_a_slow_topic(broker: Broker, topic: str) -> None:
    await asyncio.to_thread(create, broker, topic, rtt_ms=200)
    config = broker.client_config("aiokafka")
    async with AIOKafkaProducer(**config) as producer:
        begin = time.monotonic()
        await producer.send_and_wait(topic, b"v")
        assert time.monotonic() - begin >= 0.2
    consumer = AIOKafkaConsumer(topic, auto_offset_reset="earliest", **config)
    async with consumer:
        record = await asyncio.wait_for(consumer.getone(), TIMEOUT_S)
    assert record.value == b"v"


def test_kafka_python_at_a_slow_topic(broker: Broker, topic: str) -> None:
    create(broker, topic, rtt_ms=200)
    producer = KafkaProducer(**broker.client_config("kafka-python"))
    begin = time.monotonic()
    assert producer.send(topic, b"v").get(TIMEOUT_S).offset == 0
    assert time.monotonic() - begin >= 0.2
    producer.close()


def test_a_client_that_leaves_in_the_midst_makes_room(broker: Broker, topic: str) -> None:
    create(broker, topic, in_byte_rate=5000)
    leaving = Producer({**broker.client_config("confluent"), "message.timeout.ms": LONG_MS})
    for _ in range(COUNT):  # they take 200 s, more than the next producer waits
        leaving.produce(topic, VALUE, partition=0)
    leaving.flush(0)
    until_written(broker, topic, 1)
    leaving.purge()
    del leaving
    produce(broker, topic, 1)
