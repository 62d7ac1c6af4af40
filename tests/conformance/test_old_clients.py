"""Java clients of 0.9 and 0.10.2, which know only messages of magic 0 and 1, beside today's."""

import os
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.conformance.clients import HERE, run
from tests.support.broker_process import KEEP, BrokerProcess
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
    made = admin.create_topics([NewTopic(name, PARTITIONS, replication_factor=1) for name in names])
    for future in made.values():
        future.result()


def produce(bootstrap: str, topic: str, codec: str, release: str) -> None:
    """Write what the release takes: v2 batches with headers, some in a transaction; or v1.

    Records follow the transaction. Its marker alone would be nothing but filling to a client of
    0.9, which then says that a record is too large, also with Kafka (F-62).
    """
    config = {"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 5}
    in_transaction = COUNT // 2 if codec == "none" and release == "3.9" else 0
    if in_transaction:
        producer = Producer(config | {"transactional.id": topic})
        producer.init_transactions()
        producer.begin_transaction()
        send(producer, topic, range(in_transaction), release)
        producer.commit_transaction()
    send(Producer(config), topic, range(in_transaction, COUNT), release)


def send(producer: Producer, topic: str, indexes: range, release: str) -> None:
    for index in indexes:
        producer.produce(
            topic,
            value(index),
            key(index),
            partition=index % PARTITIONS,
            headers=[("header", b"lost")] if release == "3.9" else None,
        )
    assert producer.flush(20) == 0


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


@pytest.mark.parametrize(("version", "release"), [("0.9.0.1", "3.9"), ("0.10.2.2", "0.10.2")])
def test_an_old_java_client(version: str, release: str, topic: str, tmp_path: Path) -> None:
    """V-92, F-60, F-61, R-92, P-56: both ways, all codecs, nulls, a group with its offsets.

    Of release 0.10.2 the client of today falls back to messages of magic 1, too.
    """
    (classes := tmp_path / "classes").mkdir()
    command = java(version, classes)
    with BrokerProcess(tmp_path / "data", settings=(KEEP, f"emulate={release}")) as broker:
        make_topics(broker.bootstrap, topic)
        for codec in CODECS:
            produce(broker.bootstrap, f"{topic}-new-{codec}", codec, release)
        printed = run(*command, broker.bootstrap, topic, str(COUNT), folder=HERE)
        assert "all steps passed" in printed
        for codec in CODECS:
            read_back(broker.bootstrap, f"{topic}-old-{codec}")
        check_offsets(broker.bootstrap, topic)


def check_offsets(bootstrap: str, prefix: str) -> None:
    """The group is known to the client of today, with all it read."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    wanted = [
        TopicPartition(f"{prefix}-{kind}-{codec}", partition)
        for kind in ("old", "new")
        for codec in CODECS
        for partition in range(PARTITIONS)
    ]
    group = ConsumerGroupTopicPartitions(f"{prefix}-group", wanted)
    (future,) = admin.list_consumer_group_offsets([group]).values()
    for place in future.result().topic_partitions:
        assert place.offset >= COUNT // PARTITIONS, place
