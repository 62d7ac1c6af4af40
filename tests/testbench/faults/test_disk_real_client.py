"""A real client and a broker whose disk fails: nothing that was acknowledged is ever lost."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from broker_lite.errors import ClientError
from broker_lite.testing import Broker, FaultUnused

TOPIC, OTHER = "orders", "paid"
TIMEOUT_S = 30
SLOW_MS = 700
DURABLE = {"log.flush.interval.messages": 1}

pytestmark = pytest.mark.client


@pytest.fixture
def make(broker_factory: Callable[..., Broker]) -> Callable[..., Broker]:
    def make(**settings: Any) -> Broker:
        return broker_factory(settings, topics=[TOPIC, OTHER])

    return make


class Sender:
    """A producer that tries each record once, and knows what became of it."""

    def __init__(self, broker: Broker, **config: Any) -> None:
        settings = {"bootstrap.servers": broker.bootstrap, "acks": "all", "retries": 0, **config}
        self._producer = Producer(settings)
        self.acknowledged: dict[str, list[bytes]] = {TOPIC: [], OTHER: []}

    def send(self, value: bytes, topic: str = TOPIC, partition: int = 0) -> int | None:
        """Produce a record; the code of its error, or None."""
        codes: list[int | None] = []

        def note(error: KafkaError | None, _: object) -> None:
            codes.append(None if error is None else error.code())

        self._producer.produce(topic, value, partition=partition, on_delivery=note)
        assert self._producer.flush(TIMEOUT_S) == 0
        if codes == [None]:
            self.acknowledged[topic].append(value)
        return codes[0]

    def check(self, broker: Broker, topic: str = TOPIC) -> list[bytes]:
        """All records of the topic, among which are those that were acknowledged, in their order.

        A record that got an error may be there, too, where the fsync failed and not the write.
        """
        found = [record.value or b"" for record in broker.records(topic)]
        acknowledged = self.acknowledged[topic]
        assert [each for each in found if each in acknowledged] == acknowledged
        return found


STORAGE = KafkaError.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize(
    "rule", [{}, {"errno": "EIO"}, {"room_bytes": 40}], ids=["ENOSPC", "EIO", "short"]
)
def test_v72_a_failed_write_is_told_and_the_next_one_works(
    make: Callable[..., Broker], rule: dict[str, Any]
) -> None:
    broker = make()
    sender = Sender(broker)
    assert sender.send(b"one") is None
    with broker.fault(disk="write", topic=TOPIC, partitions=[0], count=2, **rule) as fault:
        assert [sender.send(b"two"), sender.send(b"three")] == [STORAGE, STORAGE]
        assert sender.send(b"other", OTHER) is None
        assert (fault.hits, fault.left) == (2, 0)
        assert sender.send(b"four") is None
    assert sender.check(broker) == [b"one", b"four"]
    broker.restart()
    assert sender.check(broker) == [b"one", b"four"]
    assert sender.check(broker, OTHER) == [b"other"]
    assert sender.send(b"five") is None


@pytest.mark.parametrize("rule", [{}, {"room_bytes": 40}], ids=["ENOSPC", "short"])
def test_a_killed_broker_loses_nothing_that_it_wrote_to_a_full_disk(
    make: Callable[..., Broker], rule: dict[str, Any]
) -> None:
    broker = make()
    sender = Sender(broker)
    assert sender.send(b"one") is None
    with broker.fault(disk="write", topic=TOPIC, count=-1, **rule) as fault:
        assert sender.send(b"two") == STORAGE
        broker.kill()
        broker.restart()
        fault.remove()
    assert sender.check(broker) == [b"one"]
    assert sender.send(b"three") is None
    assert sender.check(broker) == [b"one", b"three"]


def test_an_idempotent_producer_waits_for_a_disk_that_is_full(make: Callable[..., Broker]) -> None:
    broker = make()
    settings = {"enable.idempotence": True, "retries": 100, "retry.backoff.ms": 20}
    sender = Sender(broker, **settings)
    with broker.fault(disk="write", topic=TOPIC, count=3) as fault:
        assert sender.send(b"one") is None
    assert fault.hits == 3
    assert sender.check(broker) == [b"one"]


@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
def test_s32_a_failed_fsync_takes_the_partition_offline_until_the_next_start(
    make: Callable[..., Broker], error: str
) -> None:
    broker = make(**DURABLE)
    sender = Sender(broker)
    assert sender.send(b"one") is None
    with broker.fault(disk="fsync", errno=error, topic=TOPIC) as fault:
        assert sender.send(b"two") == STORAGE
        assert fault.hits == 1
    assert sender.send(b"three") == STORAGE
    assert sender.send(b"other", OTHER) is None
    with pytest.raises(ClientError, match="KAFKA_STORAGE_ERROR"):
        broker.records(TOPIC)
    broker.restart()
    assert sender.check(broker) in ([b"one"], [b"one", b"two"])
    assert sender.send(b"four") is None
    assert sender.check(broker)[-1] == b"four"
    assert sender.check(broker, OTHER) == [b"other"]


def test_a_reset_and_a_restored_snapshot_bring_a_partition_back(
    make: Callable[..., Broker],
) -> None:
    broker = make(**DURABLE)
    broker.produce(TOPIC, "one")
    broker.snapshot("one")
    for bring_back, left in (
        (lambda: broker.restore("one"), [b"one"]),
        (lambda: broker.reset(keep_topics=True), []),
        (broker.reset, []),
    ):
        failed = pytest.raises(ClientError, match="KAFKA_STORAGE_ERROR")
        with broker.fault(disk="fsync", topic=TOPIC), failed:
            broker.produce(TOPIC, "two")
        bring_back()
        broker.produce(TOPIC, "three")
        assert [each.value for each in broker.records(TOPIC)] == [*left, b"three"]


def test_a_slow_fsync_holds_up_its_partition_and_nobody_else(make: Callable[..., Broker]) -> None:
    broker = make(**DURABLE)
    slow, other = Sender(broker), Sender(broker)
    assert slow.send(b"one") is None
    with broker.fault(disk="fsync", delay_ms=SLOW_MS, topic=TOPIC) as fault:
        slow._producer.produce(TOPIC, b"two", partition=0)
        slow._producer.poll(0)
        fault.wait()
        begun = time.monotonic()
        assert other.send(b"other", OTHER) is None
        assert len(broker.records(TOPIC)) == 1  # readers do not see what may not be on the disk
        assert time.monotonic() - begun < SLOW_MS / 1000
        assert slow._producer.flush(TIMEOUT_S) == 0
    assert [each.value for each in broker.records(TOPIC)] == [b"one", b"two"]


def test_the_end_of_a_rule_ends_its_slow_fsync(make: Callable[..., Broker]) -> None:
    broker = make(**DURABLE)
    sender = Sender(broker)
    with broker.fault(disk="fsync", delay_ms=3_600_000, count=-1) as fault:
        sender._producer.produce(TOPIC, b"one", partition=0)
        sender._producer.poll(0)
        fault.wait()
    assert sender._producer.flush(TIMEOUT_S) == 0
    assert len(broker.records(TOPIC)) == 1


@pytest.mark.parametrize("how", ["reset", "restart", "restore"])
def test_neither_a_reset_nor_a_stop_waits_for_a_slow_fsync(
    make: Callable[..., Broker], how: str
) -> None:
    broker = make(**DURABLE)
    broker.snapshot("empty")
    sender = Sender(broker)
    ways: dict[str, Callable[[], object]] = {
        "reset": lambda: broker.reset(keep_topics=True),
        "restart": broker.restart,
        "restore": lambda: broker.restore("empty"),
    }
    with broker.fault(disk="fsync", delay_ms=3_600_000, topic=TOPIC) as fault:
        sender._producer.produce(TOPIC, b"one", partition=0)
        sender._producer.poll(0)
        fault.wait()
        ways[how]()
        broker.produce(TOPIC, "two")
    assert broker.records(TOPIC)[-1].value == b"two"


def test_offsets_cannot_be_committed_to_a_full_disk(make: Callable[..., Broker]) -> None:
    broker = make()
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g"})
    offset = TopicPartition(TOPIC, 0, 7)
    consumer.commit(offsets=[offset], asynchronous=False)
    with broker.fault(disk="write", topic="__consumer_offsets", count=1) as fault:
        consumer.commit(offsets=[TopicPartition(TOPIC, 0, 8)], asynchronous=False)  # tries again
        assert fault.hits == 1
    broker.restart()
    [found] = consumer.committed([offset], timeout=TIMEOUT_S)
    consumer.close()
    assert found.offset == 8


def test_http_and_scripts_take_the_rule_and_a_reset_keeps_it(make: Callable[..., Broker]) -> None:
    broker = make()
    added: Any = broker.control("POST", "/v1/faults", {"disk": "write", "topic": TOPIC})
    broker.reset()
    sender = Sender(broker)
    assert sender.send(b"one") == STORAGE
    state: Any = broker.control("DELETE", f"/v1/faults/{added['id']}")
    assert state["hits"] == 1
    script = {"rules": [{"disk": "write", "topic": TOPIC, "errno": "EIO"}]}
    run: Any = broker.control("POST", "/v1/scripts", script)
    assert [sender.send(b"two"), sender.send(b"three")] == [STORAGE, None]
    broker.control("POST", f"/v1/scripts/{run['id']}/wait", {})
    told: Any = broker.control("GET", f"/v1/scripts/{run['id']}")
    assert told["rules"][0]["hits"] == 1
    assert sender.check(broker) == [b"three"]


def test_a_disk_that_nobody_writes_to_is_an_unused_fault(make: Callable[..., Broker]) -> None:
    broker = make()
    text = "acted on no call of the disk; nearest: write of paid-0: topic 'paid' is not 'orders'"
    with pytest.raises(FaultUnused, match=text), broker.fault(disk="write", topic=TOPIC):
        assert Sender(broker).send(b"one", OTHER) is None
    nothing_near = "no call of the disk came near"
    with pytest.raises(FaultUnused, match=nothing_near), broker.fault(disk="fsync"):
        pass


def test_a_broker_of_a_cluster_has_a_full_disk(broker_factory: Callable[..., Broker]) -> None:
    broker = broker_factory(brokers=2)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    created = admin.create_topics([NewTopic(TOPIC, 2, replica_assignment=[[1], [2]])])
    created[TOPIC].result(TIMEOUT_S)
    sender = Sender(broker)
    with broker.fault(disk="write", nodes=[2], count=-1) as fault:
        assert [sender.send(b"a", partition=0), sender.send(b"b", partition=1)] == [None, STORAGE]
        assert fault.hits == 1
    assert sender.send(b"c", partition=1) is None
    assert sorted(sender.check(broker)) == [b"a", b"c"]
