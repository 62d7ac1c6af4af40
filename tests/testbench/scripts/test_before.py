"""A recorded session becomes a script with which another broker stands in for the first one."""

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from broker_lite.testing import Broker, BrokerFailed
from tests.testbench.scripts.test_run import start, wait

TIMEOUT_S = 30
ONCE = {"OffsetFetch", "OffsetCommit", "LeaveGroup"}
pytestmark = pytest.mark.client


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics=["orders:2", "bills"]) as started:
        yield started


def bill(broker: Broker, count: int, group: str = "billing") -> list[bytes]:
    """Read orders, write a bill for each, and commit; return the orders."""
    settings = {"bootstrap.servers": broker.bootstrap}
    offsets = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer, producer = Consumer({**settings, **offsets}), Producer({**settings, "linger.ms": 0})
    consumer.subscribe(["orders"])
    orders = []
    while len(orders) < count:
        record = consumer.poll(TIMEOUT_S)
        assert record is not None
        assert record.error() is None
        orders.append(record.value() or b"")
        producer.produce("bills", record.value())
    assert producer.flush(TIMEOUT_S) == 0
    consumer.commit(asynchronous=False)
    consumer.close()
    return sorted(orders)


def session(broker: Broker, **query: Any) -> Any:
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    return broker.control("GET", f"/v1/requests/script?{asked}")


def record(broker: Broker, recording: str = "headers") -> None:
    broker.control("PUT", "/v1/requests/recording", {"recording": recording})


def test_another_broker_stands_in(broker: Broker) -> None:
    for number in range(20):
        broker.produce("orders", f"{number:02}", partition=number % 2)
    broker.produce("bills", "old")
    assert len(bill(broker, 20)) == 20
    for number in range(20, 26):
        broker.produce("orders", f"{number:02}", partition=number % 2)
    record(broker)
    wanted = [f"{number}".encode() for number in range(20, 26)]
    assert bill(broker, 6) == wanted
    made = session(broker, records=100)
    bills = [each["value"] for each in made["records"] if each["topic"] == "bills"]
    assert (bills[0], len(bills)) == ("old", 21)  # none of the session's own
    assert len(made["records"]) == 26 + 21
    assert made["offsets"] == {"billing": {"orders": {"0": 10, "1": 10}}}
    # a client sends heartbeats and fetches when it pleases, but these in this order
    own = [each for each in made["expect"]["requests"] if each["keys"][0] in ONCE]
    assert [each["keys"] for each in own[-3:]] == [
        ["OffsetFetch"],
        ["OffsetCommit"],
        ["LeaveGroup"],
    ]
    made["expect"] = {"requests": own, "others_ok": None}
    with Broker() as other:
        script = start(other, **made)
        assert bill(other, 6) == wanted
        assert wait(other, script)["ok"]


def test_offsets_count_the_records_that_are_there(broker: Broker) -> None:
    """In the other broker there are no markers of transactions, and no deleted records."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "x"})
    producer.init_transactions(TIMEOUT_S)
    for number in range(4):
        producer.begin_transaction()
        producer.produce("orders", f"{number}", partition=0)
        assert producer.flush(TIMEOUT_S) == 0
        if number == 1:
            producer.abort_transaction(TIMEOUT_S)
        else:
            producer.commit_transaction(TIMEOUT_S)
    record(broker)
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": "g"}
    partition = TopicPartition("orders", 0, 6)  # of 0, C, 1, A, 2, C, 3, C
    consumer = Consumer(settings)
    consumer.commit(offsets=[partition], asynchronous=False)
    assert consumer.committed([partition], TIMEOUT_S)[0].offset == 6
    consumer.close()
    made = session(broker, records=10)
    assert [each["value"] for each in made["records"]] == ["0", "2", "3"]
    assert made["offsets"] == {"g": {"orders": {"0": 2}}}


def test_what_is_not_known_is_refused(broker: Broker) -> None:
    record(broker)
    broker.produce("orders", "a", partition=0)
    assert "records" not in session(broker)
    assert "records" not in session(broker, records=1)  # the session wrote it
    broker.produce("orders", "b", partition=1)
    broker.control("DELETE", "/v1/requests")
    bill(broker, 2, "more")
    with pytest.raises(BrokerFailed, match="records: the topics had more than 1 records"):
        session(broker, records=1)
    broker.control("DELETE", "/v1/requests")
    quiet = Producer({"bootstrap.servers": broker.bootstrap, "acks": 0})
    quiet.produce("orders", "c")
    assert quiet.flush(TIMEOUT_S) == 0
    with pytest.raises(BrokerFailed, match=r"what r\d+ wrote is not known: it has no answer"):
        session(broker, records=10)


def test_too_many_bytes_are_refused(broker: Broker) -> None:
    record(broker)
    broker.produce("bills", "x" * 600_000)
    broker.control("DELETE", "/v1/requests")
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g"})
    consumer.assign([TopicPartition("bills", 0, 0)])
    assert consumer.poll(TIMEOUT_S) is not None
    consumer.close()
    with pytest.raises(BrokerFailed, match="before the session take more than 524288 bytes"):
        session(broker, records=10)
