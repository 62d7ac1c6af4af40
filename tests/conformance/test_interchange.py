"""One data directory, served by broker-lite, then by a real Kafka, then by broker-lite again.

Topics, records, committed offsets of both kinds of groups and transactional ids are there for
whoever comes next, and each goes on where the other stopped.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from broker_lite.errors import ErrorCode
from tests.support.broker_process import BrokerProcess
from tests.support.reference_kafka import ReferenceKafka
from tests.support.toolchain import require

pytestmark = [pytest.mark.kafka, pytest.mark.client, pytest.mark.slow]
TOPIC, TRANSACTIONAL_ID, TIMEOUT_S = "orders", "payments", 30
EACH = 5
KAFKA_NODE_ID = "1"
LOADING = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


@pytest.fixture(autouse=True)
def _java() -> None:
    require("java", "mvn")


def move_on(bootstrap: str, name: str) -> None:
    """Commit, abort, and commit again; each group then reads what is new to it."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": TRANSACTIONAL_ID})
    producer.init_transactions(TIMEOUT_S)
    for end in ("first", "aborted", "second"):
        producer.begin_transaction()
        for number in range(EACH):
            producer.produce(TOPIC, f"{name} {end} {number}", partition=number % 2)
        producer.flush(TIMEOUT_S)
        if end == "aborted":
            producer.abort_transaction(TIMEOUT_S)
        else:
            producer.commit_transaction(TIMEOUT_S)
    expected = sorted(f"{name} {end} {n}" for end in ("first", "second") for n in range(EACH))
    for protocol in ("classic", "consumer"):
        assert sorted(read(bootstrap, protocol, len(expected))) == expected, (name, protocol)


def read(bootstrap: str, protocol: str, count: int) -> Iterator[str]:
    """What a group has not read yet, at least `count` records unless they do not come."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"{protocol} group",
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    with closing(consumer):
        consumer.subscribe([TOPIC])
        while count > 0 and (message := consumer.poll(TIMEOUT_S)) is not None:
            if message.error() is None:
                count -= 1
                yield message.value().decode()
        # nothing was left over by who served the directory before, and nothing comes twice
        extra = consumer.poll(0.2)
        if extra is not None and extra.error() is None:
            yield extra.value().decode()
        consumer.commit(asynchronous=False)


def wait_for_coordinators(bootstrap: str) -> None:
    """Kafka reads its state logs only once it is ready."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            positions(bootstrap)
        except KafkaException as error:
            if error.args[0].code() not in LOADING or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def positions(bootstrap: str) -> dict[str, list[tuple[int, int]]]:
    """By group: the committed offset and the end of each partition."""
    found = {}
    for protocol in ("classic", "consumer"):
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"{protocol} group"})
        with closing(consumer):
            partitions = [TopicPartition(TOPIC, number) for number in range(2)]
            committed = consumer.committed(partitions, TIMEOUT_S)
            ends = [consumer.get_watermark_offsets(each, TIMEOUT_S)[1] for each in partitions]
            found[protocol] = [
                (each.offset, end) for each, end in zip(committed, ends, strict=True)
            ]
    return found


def test_a_directory_goes_to_kafka_and_comes_back(tmp_path: Path) -> None:
    kafka = ReferenceKafka(tmp_path / "kafka")
    ours = BrokerProcess(kafka.log_dir, arguments=["--node-id", KAFKA_NODE_ID])
    kafka.folder.mkdir()
    with ours:
        topic = NewTopic(TOPIC, num_partitions=2, config={"segment.ms": "86400000"})
        admin = AdminClient({"bootstrap.servers": ours.bootstrap})
        admin.create_topics([topic])[TOPIC].result(TIMEOUT_S)
        move_on(ours.bootstrap, "ours")
        before = positions(ours.bootstrap)
    with kafka:
        wait_for_coordinators(kafka.bootstrap)
        assert positions(kafka.bootstrap) == before
        move_on(kafka.bootstrap, "kafka's")
        before = positions(kafka.bootstrap)
    with ours:
        assert positions(ours.bootstrap) == before
        move_on(ours.bootstrap, "ours again")
