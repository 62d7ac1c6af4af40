"""Topics that discard their records: what producers, consumers and a restart see.

See: S-56.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioPartition
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaConsumer
from kafka import TopicPartition as PythonPartition

from broker_lite.testing import Broker
from tests.conformance.test_synthetic import alter, consumer_of, load_configs
from tests.support.broker_process import BrokerProcess
from tests.support.reference_kafka import run_tool

pytestmark = pytest.mark.client

COUNT = 1000
TIMEOUT_S = 30.0
CHECK_MS = 500
VALUE = b"v" * 1000
PRODUCER_PERF = "org.apache.kafka.tools.ProducerPerformance"
CONSUMER_PERF = "org.apache.kafka.tools.ConsumerPerformance"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("discard") / "data") as process:
        yield process


def create(broker: BrokerProcess, topic: str, mode: str = "discard", **configs: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    given = {**load_configs(mode=mode), **configs}
    admin.create_topics([NewTopic(topic, 1, 1, config=given)])[topic].result(TIMEOUT_S)


def produce(broker: BrokerProcess, topic: str, count: int = COUNT, **settings: object) -> list[int]:
    """Produce, and give the offsets of the records that were acknowledged."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 1, **settings})
    offsets: list[int] = []

    def note(error: object, message: Message) -> None:
        if error is None:
            offsets.append(message.offset())

    for _ in range(count):
        producer.produce(topic, VALUE, on_delivery=note)
    assert producer.flush(TIMEOUT_S) == 0
    return offsets


def ends(broker: BrokerProcess, topic: str) -> tuple[int, int]:
    """Log start and high watermark."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "nobody"})
    found: tuple[int, int] = consumer.get_watermark_offsets(TopicPartition(topic, 0), TIMEOUT_S)
    consumer.close()
    return found


def log_bytes(broker: BrokerProcess, topic: str) -> int:
    return sum(path.stat().st_size for path in (broker.data_dir / f"{topic}-0").glob("*.log"))


@pytest.mark.parametrize("idempotent", [False, True])
@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_offsets_are_those_of_stored_records(
    broker: BrokerProcess, topic: str, idempotent: bool, codec: str
) -> None:
    create(broker, topic)
    settings = {"enable.idempotence": idempotent, "compression.type": codec}
    assert sorted(produce(broker, topic, **settings)) == list(range(COUNT))
    assert ends(broker, topic) == (0, COUNT)
    assert 0 < log_bytes(broker, topic) <= COUNT * 61


def test_a_group_gets_no_records_and_has_no_lag(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic)
    produce(broker, topic)
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
        }
    )
    consumer.subscribe([topic])
    at_end = consumer.poll(TIMEOUT_S)
    assert at_end is not None
    assert at_end.error().code() == KafkaError._PARTITION_EOF
    assert at_end.offset() == COUNT
    consumer.close()


@pytest.mark.asyncio
async def test_aiokafka_gets_what_comes_after_it(broker: BrokerProcess, topic: str) -> None:
    await asyncio.to_thread(create, broker, topic)
    await asyncio.to_thread(produce, broker, topic)
    async with AIOKafkaConsumer(bootstrap_servers=broker.bootstrap) as consumer:
        partition = AioPartition(topic, 0)
        consumer.assign([partition])
        await consumer.seek_to_beginning()
        await asyncio.to_thread(alter, broker.bootstrap, topic, mode="stored")
        await asyncio.to_thread(produce, broker, topic, 1)
        record = await asyncio.wait_for(consumer.getone(partition), TIMEOUT_S)
    assert (record.offset, record.value) == (COUNT, VALUE)


def test_kafka_python_gets_what_comes_after_it(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic)
    produce(broker, topic)
    alter(broker.bootstrap, topic, mode="stored")
    produce(broker, topic, 1)
    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap)
    partition = PythonPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek(partition, 0)
    (record,) = consumer.poll(timeout_ms=int(TIMEOUT_S * 1000))[partition]
    consumer.close()
    assert (record.offset, record.value) == (COUNT, VALUE)


@pytest.mark.kafka
@pytest.mark.usefixtures("java")
def test_the_tools_of_kafka(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic)
    at = ("--bootstrap-server", broker.bootstrap)
    run_tool(
        PRODUCER_PERF,
        *("--topic", topic, "--num-records", str(COUNT), "--record-size", "100"),
        *("--throughput", "-1", "--producer-props", f"bootstrap.servers={broker.bootstrap}"),
    )
    assert ends(broker, topic) == (0, COUNT)
    alter(broker.bootstrap, topic, mode="stored")
    produce(broker, topic, 10)
    shown = run_tool(CONSUMER_PERF, *at, "--topic", topic, "--num-records", "10", "--hide-header")
    assert " 10," in shown


@pytest.mark.parametrize("commits", [True, False])
def test_transactions(broker: BrokerProcess, topic: str, commits: bool) -> None:
    create(broker, topic)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic})
    producer.init_transactions(TIMEOUT_S)
    for _ in range(3):
        producer.begin_transaction()
        producer.produce(topic, VALUE)
        producer.flush(TIMEOUT_S)
        end = producer.commit_transaction if commits else producer.abort_transaction
        end(TIMEOUT_S)
    assert ends(broker, topic) == (0, 6)
    alter(broker.bootstrap, topic, mode="stored")
    produce(broker, topic, 1)
    consumer = consumer_of(broker.bootstrap, topic, **{"isolation.level": "read_committed"})
    message = consumer.poll(TIMEOUT_S)
    consumer.close()
    assert message is not None
    assert (message.offset(), message.value()) == (6, VALUE)


def test_what_is_refused_stays_refused(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic, **{"cleanup.policy": "compact"})  # records need a key
    assert produce(broker, topic, 1) == []
    assert ends(broker, topic) == (0, 0)


def test_retention_takes_all_that_was_stored(tmp_path: Path, topic: str) -> None:
    settings = (f"log.retention.check.interval.ms={CHECK_MS}",)
    with BrokerProcess(tmp_path / "data", settings=settings) as broker:
        create(broker, topic, mode="stored")
        produce(broker, topic)
        alter(broker.bootstrap, topic, mode="discard")
        produce(broker, topic)
        consumer = consumer_of(broker.bootstrap, topic, 2 * COUNT)
        assert consumer.poll(2 * CHECK_MS / 1000) is None
        while ends(broker, topic) != (2 * COUNT, 2 * COUNT):
            assert consumer.poll(CHECK_MS / 1000) is None
        alter(broker.bootstrap, topic, mode="stored")
        assert produce(broker, topic, 1) == [2 * COUNT]
        message = consumer.poll(TIMEOUT_S)
        consumer.close()
    assert message is not None
    assert (message.offset(), message.value()) == (2 * COUNT, VALUE)


def test_a_kill_gives_no_offset_twice(tmp_path: Path, topic: str) -> None:
    """The client goes on over the kill: its sequences have to fit, too."""
    broker = BrokerProcess(tmp_path / "data").start()
    create(broker, topic)
    offsets: list[int] = []
    port = broker.port
    producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})

    def note(error: object, message: Message) -> None:
        assert error is None
        offsets.append(message.offset())

    for round_number in range(3):
        for _ in range(20 * COUNT):
            producer.produce(topic, VALUE, on_delivery=note)
            producer.poll(0)
        killing = Timer(0.05 * (round_number + 1), broker.kill)
        killing.start()
        producer.flush(0.1)
        killing.join()
        broker = BrokerProcess(tmp_path / "data", port=port).start()
        assert producer.flush(TIMEOUT_S) == 0
    assert sorted(offsets) == list(range(60 * COUNT))
    assert ends(broker, topic) == (0, 60 * COUNT)
    assert broker.stop() == 0


def test_replicas_and_a_new_leader(topic: str) -> None:
    with Broker(brokers=3) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        configs = {**load_configs(mode="discard"), "min.insync.replicas": "2"}
        admin.create_topics([NewTopic(topic, 1, 3, config=configs)])[topic].result(TIMEOUT_S)
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True})
        offsets: list[int] = []
        for leader in (2, 3, 1):
            cluster.move_leader(topic, 0, to=leader)
            for _ in range(COUNT):
                producer.produce(topic, VALUE, on_delivery=lambda _, m: offsets.append(m.offset()))
            assert producer.flush(TIMEOUT_S) == 0
        assert sorted(offsets) == list(range(3 * COUNT))
