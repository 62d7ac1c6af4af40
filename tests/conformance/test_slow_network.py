"""Real clients behind a slow link: they see a slow network, and no throttle time.

See: P-17.
"""

import asyncio
import time
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic, ResourceType
from kafka import KafkaProducer

from broker_lite.testing import Broker
from tests.conformance import timed
from tests.conformance.timed import MEGABYTE, TIMEOUT_S, VALUE
from tests.support.broker_process import BrokerProcess

pytestmark = pytest.mark.client


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("slow") / "data") as process:
        yield process


@pytest.fixture(autouse=True)
def _fast_again(broker: BrokerProcess) -> Iterator[None]:
    yield
    set_pace(broker, rtt_ms=0, in_byte_rate=0, out_byte_rate=0, client_ids="*")


def set_pace(broker: BrokerProcess, **values: object) -> None:
    settings = {f"broker.lite.pace.{name.replace('_', '.')}": each for name, each in values.items()}
    timed.alter(config_of(broker), ResourceType.BROKER, "1", settings)


def config_of(broker: BrokerProcess) -> dict[str, object]:
    return {"bootstrap.servers": broker.bootstrap}


def create(broker: BrokerProcess, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(topic, 1)])[topic].result(TIMEOUT_S)


def produce(
    broker: BrokerProcess, topic: str, count: int = timed.COUNT, **settings: object
) -> float:
    return timed.produce(config_of(broker), topic, count, **settings)


def test_what_a_producer_sends_takes_its_time(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic)
    set_pace(broker, in_byte_rate=MEGABYTE)
    assert produce(broker, topic) >= 0.9


def test_what_a_consumer_gets_takes_its_time(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic)
    produce(broker, topic)
    set_pace(broker, out_byte_rate=MEGABYTE)
    assert timed.consume(config_of(broker), topic) >= 0.9


def test_only_the_clients_of_some_ids_are_slow(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic)
    set_pace(broker, rtt_ms=20_000, client_ids="far-*")
    assert produce(broker, topic, **{"client.id": "near"}) < 20
    set_pace(broker, rtt_ms=300)
    assert produce(broker, topic, 1, **{"client.id": "far-1"}) >= 0.3


@pytest.mark.asyncio
async def test_aiokafka_far_away(broker: BrokerProcess, topic: str) -> None:
    await asyncio.to_thread(set_pace, broker, rtt_ms=100)
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        begin = time.monotonic()
        await producer.send_and_wait(topic, b"v")
        assert time.monotonic() - begin >= 0.1
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest"
    )
    async with consumer:
        record = await asyncio.wait_for(consumer.getone(), TIMEOUT_S)
    assert record.value == b"v"


def test_kafka_python_far_away(broker: BrokerProcess, topic: str) -> None:
    set_pace(broker, rtt_ms=100, in_byte_rate=MEGABYTE, out_byte_rate=MEGABYTE)
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    begin = time.monotonic()
    assert producer.send(topic, b"v").get(TIMEOUT_S).offset == 0
    assert time.monotonic() - begin >= 0.1
    producer.close()


@pytest.mark.parametrize("word", ["ssl", "sasl_ssl"])
def test_tls_and_logins_far_away(word: str) -> None:
    """It takes a client some round trips until it is secured."""
    with Broker(security=word, topics=["t"], settings={"broker.lite.pace.rtt.ms": "50"}) as broker:
        begin = time.monotonic()
        producer = Producer(broker.client_config("confluent"))
        producer.produce("t", VALUE)
        assert producer.flush(TIMEOUT_S) == 0
        assert time.monotonic() - begin >= 0.2
        assert broker.records("t")[0].value == VALUE
