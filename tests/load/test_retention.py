"""S-50 to S-54, F-10: retention while records are written and read, a share of the command."""

from collections.abc import Iterator
from datetime import timedelta

import confluent_kafka
import pytest

from broker_lite.testing import Broker
from tests.load.retention import RETENTION_MS, TOPICS, simulate

POLLS_MAX = 300


def test_s50_disk_and_readers_under_load() -> None:
    outcome = simulate(hours=2, seed=7, step=timedelta(minutes=7))
    assert outcome.records > 500
    assert outcome.kept_bytes < outcome.written_bytes * 0.8
    assert outcome.out_of_range


def test_the_check_notices_what_is_kept_for_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TOPICS, "by-time", {"retention.ms": 3 * RETENTION_MS})
    with pytest.raises(AssertionError, match="bytes kept"):
        simulate(hours=4, seed=7, step=timedelta(minutes=20))


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as started:
        yield started


def polled(
    consumer: confluent_kafka.Consumer, broker: Broker, topic: str
) -> confluent_kafka.Message:
    """The first message or error; records are written until it comes."""
    for _ in range(POLLS_MAX):
        broker.produce(topic, "new")
        message = consumer.poll(0.1)
        if message is not None:
            return message
    raise AssertionError("nothing was read")


@pytest.mark.parametrize("reset", ["earliest", "latest", "error"])
def test_f10_a_real_client_goes_on_where_auto_offset_reset_says(broker: Broker, reset: str) -> None:
    """Its position is gone by the time that it reads from there."""
    topic = f"reset-{reset}"
    broker.create_topic(topic, configs={"retention.ms": RETENTION_MS})
    broker.produce(topic, "0", "1", timestamp_ms=0)
    broker.advance()
    broker.produce(topic, "2")
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": "g", "auto.offset.reset": reset}
    consumer = confluent_kafka.Consumer(settings)
    try:
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        message = polled(consumer, broker, topic)
        if reset == "error":
            assert message.error().code() == confluent_kafka.KafkaError._AUTO_OFFSET_RESET
        else:
            assert message.error() is None
            assert message.offset() == 2 if reset == "earliest" else message.offset() > 2
    finally:
        consumer.close()
