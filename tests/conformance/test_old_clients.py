"""Java clients of 0.9 and 0.10.2, which know only messages of magic 0 and 1, beside today's."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.conformance.clients import HERE, run
from tests.support.broker_process import BrokerProcess
from tests.support.reference_kafka import fetch_jars
from tests.support.toolchain import require

CODECS = ("none", "gzip", "snappy", "lz4")
PARTITIONS = 2
COUNT = 200
FOLDER = HERE / "java_old"

pytestmark = pytest.mark.client


def key(index: int) -> bytes | None:
    return None if index % 3 == 0 else b"key-%d" % index


def value(index: int) -> bytes | None:
    return None if index % 17 == 16 else b"value-%d" % index * (index % 13)


@pytest.fixture(scope="module")
def old_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker that stands in for the last release that served such clients, or another's one."""
    other = os.environ.get("CONFORMANCE_BOOTSTRAP")
    if other:
        yield other
        return
    data_dir = tmp_path_factory.mktemp("old") / "data"
    settings = ("emulate=3.9", "group.initial.rebalance.delay.ms=0")
    with BrokerProcess(data_dir, settings=settings) as broker:
        yield broker.bootstrap


def java(version: str, folder: Path) -> list[str]:
    """The command line of the program, compiled against one release of the client."""
    require("java", "javac", "mvn")
    jars = fetch_jars(FOLDER / "pom.xml", f"kafka-clients-{version}", version)
    source = str(FOLDER / "OldClient.java")
    run("javac", "-nowarn", "-cp", f"{jars}/*", "-d", str(folder), source, folder=HERE)
    small = ("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    return ["java", *small, "-cp", f"{folder}{os.pathsep}{jars}/*", "OldClient"]


def make_topics(bootstrap: str, prefix: str) -> None:
    names = [f"{prefix}-{kind}-{codec}" for kind in ("old", "new") for codec in CODECS]
    admin = AdminClient({"bootstrap.servers": bootstrap})
    made = admin.create_topics([NewTopic(name, num_partitions=PARTITIONS) for name in names])
    for future in made.values():
        future.result()


def produce(bootstrap: str, topic: str, codec: str) -> None:
    """Write v2 batches with headers; without a codec, in a transaction."""
    config = {"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 5}
    is_transactional = codec == "none"
    producer = Producer(config | ({"transactional.id": topic} if is_transactional else {}))
    if is_transactional:
        producer.init_transactions()
        producer.begin_transaction()
    for index in range(COUNT):
        producer.produce(
            topic,
            value(index),
            key(index),
            partition=index % PARTITIONS,
            headers=[("header", b"lost")],
        )
    assert producer.flush(20) == 0
    if is_transactional:
        producer.commit_transaction()


def read_back(bootstrap: str, topic: str) -> None:
    """Read with the client of today what an old one wrote."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": f"{topic}-check", "check.crcs": True}
    )
    consumer.assign([TopicPartition(topic, each, 0) for each in range(PARTITIONS)])
    seen = 0
    next_index = list(range(PARTITIONS))
    while seen < COUNT:
        message = consumer.poll(20)
        assert message is not None, f"{topic}: only {seen}"
        assert message.error() is None
        index = next_index[message.partition()]
        next_index[message.partition()] += PARTITIONS
        assert (message.key(), message.value()) == (key(index), value(index))
        assert message.offset() == index // PARTITIONS
        assert message.headers() is None
        seen += 1
    consumer.close()


@pytest.mark.parametrize("version", ["0.9.0.1", "0.10.2.2"])
def test_an_old_java_client(version: str, old_broker: str, topic: str, tmp_path: Path) -> None:
    """V-92, F-60, F-61, R-92: both ways, all codecs, nulls, a group with its offsets."""
    command = java(version, tmp_path)
    make_topics(old_broker, topic)
    for codec in CODECS:
        produce(old_broker, f"{topic}-new-{codec}", codec)
    printed = run(*command, old_broker, topic, str(COUNT), folder=HERE)
    assert "all steps passed" in printed
    for codec in CODECS:
        read_back(old_broker, f"{topic}-old-{codec}")
    group = ConsumerGroupTopicPartitions(f"{topic}-group")
    admin = AdminClient({"bootstrap.servers": old_broker})
    (future,) = admin.list_consumer_group_offsets([group]).values()
    committed = {
        (each.topic, each.partition): each.offset for each in future.result().topic_partitions
    }
    assert len(committed) == 2 * len(CODECS) * PARTITIONS
    for (name, _), offset in committed.items():
        assert offset >= COUNT // PARTITIONS, name
