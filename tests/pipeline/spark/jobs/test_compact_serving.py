"""S-89, S-96: brokers serve a log that was compacted while they were stopped."""

import time
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from broker_lite.pipeline.spark.jobs.compact import compact
from tests.pipeline.test_serving import Started, dump, read
from tests.support.broker_process import BrokerProcess
from tests.support.reference_kafka import ReferenceKafka
from tests.support.toolchain import require

pytestmark = [pytest.mark.client, pytest.mark.slow]
TOPIC = "keyed"
TIMEOUT_S = 30
RECORDS, KEYS = 3000, 50
CONFIGS = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "1.0",  # no broker's cleaner has anything to do
    "segment.bytes": "1048576",
}


def key_of(number: int) -> bytes:
    return b"key-%d" % (number % KEYS)


def value_of(number: int) -> bytes | None:
    """Of every tenth key the last value is null."""
    is_last = number >= RECORDS - KEYS
    return None if is_last and number % 10 == 0 else b"%d" % number * 200


def make(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    (made,) = admin.create_topics([NewTopic(TOPIC, 1, 1, config=CONFIGS)]).values()
    made.result(TIMEOUT_S)
    produce(bootstrap, range(RECORDS))


def produce(bootstrap: str, numbers: range) -> None:
    config = {"bootstrap.servers": bootstrap, "enable.idempotence": True}
    producer = Producer({**config, "batch.size": 20_000, "compression.type": "none"})
    for number in numbers:
        producer.produce(TOPIC, value_of(number), key_of(number), partition=0)
    assert producer.flush(TIMEOUT_S) == 0


def facts(message: Message) -> tuple[int | None, bytes | None, bytes | None]:
    return message.offset(), message.key(), message.value()


def serve(spark: SparkSession, broker: Started, data_directory: Path) -> None:
    with broker() as running:
        make(running.bootstrap)
    before = {path.name for path in (data_directory / f"{TOPIC}-0").glob("*.log")}
    (group, *_) = compact(spark, str(data_directory), [TOPIC], now_ms=time.time_ns() // 1_000_000)
    with broker() as running:
        stored = [facts(each) for each in read(running.bootstrap, "read_committed", [TOPIC])]
        newest = [(n, key_of(n), value_of(n)) for n in range(RECORDS - KEYS, RECORDS)]
        assert stored[-KEYS:] == newest
        assert group.round_end < RECORDS
        # of what is compacted the newest of each key stays; behind it nothing was looked at
        first = group.round_end - KEYS
        assert [offset for offset, *_ in stored] == list(range(first, RECORDS))
        produce(running.bootstrap, range(RECORDS, RECORDS + 1))
        *_, last = read(running.bootstrap, "read_committed", [TOPIC])
        assert last.offset() == RECORDS
    assert len(before) > 2


def test_broker_lite_serves_a_compacted_log(spark: SparkSession, tmp_path: Path) -> None:
    serve(spark, partial(BrokerProcess, tmp_path / "data"), tmp_path / "data")
    log = (tmp_path / "data.out").read_text()
    assert "recover" not in log


@pytest.mark.kafka
def test_kafka_serves_a_compacted_log(spark: SparkSession, tmp_path: Path) -> None:
    require("java", "mvn")
    kafka = ReferenceKafka(tmp_path / "kafka")
    serve(spark, lambda: kafka, kafka.log_dir)
    assert "Recovering unflushed" not in (tmp_path / "kafka" / "server.out").read_text()
    dump(kafka.log_dir, [TOPIC])
