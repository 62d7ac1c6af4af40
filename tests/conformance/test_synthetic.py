"""Synthetic topics, read by clients that check CRCs and offsets; across the seam of the run.

See: F-16.
"""

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioPartition
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)
from kafka import KafkaConsumer
from kafka import TopicPartition as PythonPartition

from broker_lite.record.canned import START_MS, CannedShape
from broker_lite.testing import Broker
from tests.conformance.clients import HERE, Builds, run
from tests.support.broker_process import BrokerProcess
from tests.support.reference_kafka import run_tool
from tests.support.toolchain import require

pytestmark = pytest.mark.client

COUNT = 100_000
SMALL = {"record.bytes": 100, "batch.records": 100, "keys": 500}  # copied, not by sendfile
RUN_RECORDS = CannedShape(100, 100, 500).record_count
LARGE = {"record.bytes": 1000, "batch.records": 1000}
TIMEOUT_S = 30.0
CONFIGS = "kafka.admin.ConfigCommand"
CONSUMER_PERF = "org.apache.kafka.tools.ConsumerPerformance"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("synthetic") / "data") as process:
        yield process


def load_configs(**parameters: object) -> dict[str, str]:
    return {f"broker.lite.load.{name}": str(value) for name, value in parameters.items()}


def create(bootstrap: str, topic: str, **parameters: object) -> None:
    configs = load_configs(mode="synthetic", **parameters)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    made = admin.create_topics([NewTopic(topic, 1, 1, config=configs)])
    made[topic].result(TIMEOUT_S)


def alter(bootstrap: str, topic: str, **parameters: object) -> None:
    entries = [
        ConfigEntry(name, text, incremental_operation=AlterConfigOpType.SET)
        for name, text in load_configs(**parameters).items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)


def consumer_of(bootstrap: str, topic: str, offset: int = 0, **settings: object) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "check.crcs": True,
            **settings,
        }
    )
    consumer.assign([TopicPartition(topic, 0, offset)])
    return consumer


def take(consumer: Consumer, count: int) -> list[Message]:
    taken: list[Message] = []
    while len(taken) < count:
        some = consumer.consume(min(10_000, count - len(taken)), TIMEOUT_S)
        assert some, f"{len(taken)} of {count} records came"
        for message in some:
            error = message.error()
            if error is not None:
                raise KafkaException(error)
        taken += some
    return taken


def check(
    records: Iterable[tuple[int, bytes | None, bytes, int]], *, run_records: int, keys: int
) -> None:
    """Offsets are contiguous from 0 on, and each run repeats the first one."""
    first: list[tuple[bytes | None, bytes, int]] = []
    count = 0
    for offset, key, value, timestamp_ms in records:
        assert offset == count
        if count < run_records:
            assert timestamp_ms == START_MS + count
            first.append((key, value, timestamp_ms))
        else:
            assert (key, value, timestamp_ms) == first[count % run_records]
        count += 1
    assert count == COUNT > run_records
    assert len({key for key, _, _ in first if key is not None}) == keys
    assert len({value for _, value, _ in first}) == len(first)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_confluent_reads_small_batches(broker: BrokerProcess, topic: str, codec: str) -> None:
    create(broker.bootstrap, topic, **SMALL, compression=codec)
    consumer = consumer_of(broker.bootstrap, topic)
    taken = take(consumer, COUNT)
    consumer.close()
    check(
        ((m.offset(), m.key(), m.value(), m.timestamp()[1]) for m in taken),
        run_records=RUN_RECORDS,
        keys=500,
    )


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_confluent_reads_large_batches(broker: BrokerProcess, topic: str, isolation: str) -> None:
    create(broker.bootstrap, topic, **LARGE)
    settings = {"isolation.level": isolation, "fetch.message.max.bytes": 3_000_000}
    consumer = consumer_of(broker.bootstrap, topic, **settings)
    taken = take(consumer, COUNT)
    consumer.close()
    check(
        ((m.offset(), m.key(), m.value(), m.timestamp()[1]) for m in taken),
        run_records=CannedShape(1000, 1000).record_count,
        keys=0,
    )


@pytest.mark.parametrize("shape", [SMALL, LARGE], ids=["small batches", "large batches"])
def test_over_tls(shape: dict[str, int]) -> None:
    with Broker(security="ssl") as secured:
        config = secured.client_config("confluent")
        given = NewTopic("t", 1, 1, config=load_configs(mode="synthetic", **shape))
        admin = AdminClient(config)
        admin.create_topics([given])["t"].result(TIMEOUT_S)
        consumer = consumer_of(secured.bootstrap, "t", **config)
        taken = take(consumer, 30_000)
        consumer.close()
    assert [m.offset() for m in taken] == [*range(30_000)]
    assert len({m.value() for m in taken[:8000]}) == 8000


@pytest.mark.asyncio
async def test_aiokafka(broker: BrokerProcess, topic: str) -> None:
    await asyncio.to_thread(create, broker.bootstrap, topic, **SMALL, compression="lz4")
    taken = []
    consumer = AIOKafkaConsumer(bootstrap_servers=broker.bootstrap, check_crcs=True)
    async with consumer:
        consumer.assign([AioPartition(topic, 0)])
        await consumer.seek_to_beginning()
        while len(taken) < COUNT:
            found = await asyncio.wait_for(consumer.getmany(timeout_ms=1000), TIMEOUT_S)
            taken += [record for records in found.values() for record in records]
    check(
        ((r.offset, r.key, r.value, r.timestamp) for r in taken[:COUNT]),
        run_records=RUN_RECORDS,
        keys=500,
    )


def test_kafka_python(broker: BrokerProcess, topic: str) -> None:
    create(broker.bootstrap, topic, **SMALL)
    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap, check_crcs=True)
    partition = PythonPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek(partition, 0)
    taken = []
    while len(taken) < COUNT:
        found = consumer.poll(timeout_ms=int(TIMEOUT_S * 1000), max_records=10_000)
        assert found, f"{len(taken)} records came"
        taken += found[partition]
    ends = consumer.end_offsets([partition])
    consumer.close()
    assert ends == {partition: 1 << 62}
    check(
        ((r.offset, r.key, r.value, r.timestamp) for r in taken[:COUNT]),
        run_records=RUN_RECORDS,
        keys=500,
    )


@pytest.mark.parametrize("name", ["franz", "sarama"])
@pytest.mark.parametrize("shape", [SMALL, LARGE], ids=["small batches", "large batches"])
def test_go(
    broker: BrokerProcess, topic: str, builds: Builds, name: str, shape: dict[str, int]
) -> None:
    require("go")
    create(broker.bootstrap, topic, **shape)
    run_records = CannedShape(shape["batch.records"], shape["record.bytes"]).record_count
    if shape is SMALL:
        run_records = RUN_RECORDS
    words = f"bootstrap={broker.bootstrap} topic={topic} count={COUNT} run={run_records}"
    printed = run(str(builds.go() / name), "reader", *words.split(), folder=HERE)
    assert "read " in printed


@pytest.mark.kafka
@pytest.mark.usefixtures("java")
def test_consumer_perf_of_kafka(broker: BrokerProcess, topic: str) -> None:
    create(broker.bootstrap, topic, **LARGE)
    at = ("--bootstrap-server", broker.bootstrap, "--topic", topic)
    printed = run_tool(CONSUMER_PERF, *at, "--num-records", str(COUNT), "--hide-header")
    assert int(printed.split(",")[4]) >= COUNT


@pytest.mark.kafka
@pytest.mark.usefixtures("java")
def test_the_tools_of_kafka(broker: BrokerProcess, topic: str) -> None:
    """Java's consumer checks CRCs by default; so does kafka-configs what a topic may have."""
    at = ("--bootstrap-server", broker.bootstrap)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(topic, 1)])[topic].result(TIMEOUT_S)
    configs = ",".join(f"{name}={text}" for name, text in load_configs(**SMALL, random=0).items())
    entity = (*at, "--entity-type", "topics", "--entity-name", topic)
    mode = "broker.lite.load.mode=synthetic"
    run_tool(CONFIGS, *entity, "--alter", "--add-config", f"{configs},{mode}")
    assert mode in run_tool(CONFIGS, *entity, "--describe")
    shown = ("print.offset", "print.partition", "print.key", "print.timestamp")
    read = run_tool(
        CONSUMER,
        *(*at, "--topic", topic, "--partition", "0", "--offset", "earliest"),
        *("--max-messages", str(COUNT), "--timeout-ms", "30000"),
        *(word for name in shown for word in ("--formatter-property", f"{name}=true")),
    )
    lines = [line.split("\t") for line in read.splitlines() if line.startswith("CreateTime:")]
    check(
        (
            (
                int(offset.removeprefix("Offset:")),
                key.encode(),
                value.encode(),
                int(time.removeprefix("CreateTime:")),
            )
            for time, _, offset, key, value in lines
        ),
        run_records=RUN_RECORDS,
        keys=500,
    )


def test_the_end_inside_of_a_batch(broker: BrokerProcess, topic: str) -> None:
    create(broker.bootstrap, topic, **SMALL, end=(1 << 62) - 50)
    begin = (1 << 62) - 1000
    consumer = consumer_of(broker.bootstrap, topic, begin, **{"enable.partition.eof": True})
    taken = take(consumer, 950)
    assert [m.offset() for m in taken] == [*range(begin, begin + 950)]
    at_end = consumer.poll(TIMEOUT_S)
    assert at_end is not None
    assert at_end.error().code() == KafkaError._PARTITION_EOF
    alter(broker.bootstrap, topic, end=1 << 62)  # wakes the consumer at the end
    assert [m.offset() for m in take(consumer, 50)] == [*range(begin + 950, 1 << 62)]
    consumer.close()


def produce(bootstrap: str, topic: str, values: Iterable[bytes]) -> list[object]:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
    failures: list[object] = []
    for value in values:
        producer.produce(
            topic, value, on_delivery=lambda error, _: failures.append(error) if error else None
        )
    assert producer.flush(TIMEOUT_S) == 0
    return failures


def test_a_change_while_a_consumer_reads(broker: BrokerProcess, topic: str) -> None:
    create(broker.bootstrap, topic, **LARGE)
    alter(broker.bootstrap, topic, mode="stored")
    assert produce(broker.bootstrap, topic, [b"one", b"two", b"three"]) == []
    alter(broker.bootstrap, topic, mode="synthetic")
    (failure,) = produce(broker.bootstrap, topic, [b"four"])
    assert isinstance(failure, KafkaError)
    assert failure.code() == KafkaError.POLICY_VIOLATION
    consumer = consumer_of(broker.bootstrap, topic, **{"fetch.message.max.bytes": 1_100_000})
    assert take(consumer, 20_000)[-1].offset() == 19_999
    alter(broker.bootstrap, topic, mode="stored")
    # What the client has fetched already may still come; then it starts anew.
    values = [m.value() for m in take(consumer, 3)]
    while b"three" not in values:
        values += [m.value() for m in take(consumer, 1)]
    consumer.close()
    assert values[-3:] == [b"one", b"two", b"three"]
    assert b"four" not in values


def test_a_restart(tmp_path: Path, topic: str) -> None:
    with BrokerProcess(tmp_path / "data") as first:
        create(first.bootstrap, topic, **SMALL)
        consumer = consumer_of(first.bootstrap, topic, 10**9)
        before = [(m.offset(), m.key(), m.value()) for m in take(consumer, 1000)]
        consumer.close()
    with BrokerProcess(tmp_path / "data") as second:
        consumer = consumer_of(second.bootstrap, topic, 10**9)
        after = [(m.offset(), m.key(), m.value()) for m in take(consumer, 1000)]
        consumer.close()
    assert after == before
    assert after[0][0] == 10**9
