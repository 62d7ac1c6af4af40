"""Groups and transactions of real clients."""

import threading
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, Producer
from playwright.sync_api import Page, expect

from broker_lite.testing import Broker

Look = Callable[..., Page]


@pytest.fixture
def members(broker: Broker) -> Iterator[Callable[[int], None]]:
    """Let members join the group "billing" and consume until the end of the test."""
    end = threading.Event()
    threads: list[threading.Thread] = []

    def consume(client: str) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": "billing",
                "client.id": client,
                "auto.offset.reset": "earliest",
                "auto.commit.interval.ms": 200,
            }
        )
        consumer.subscribe(["orders"])
        while not end.is_set():
            consumer.poll(0.1)
        consumer.close()

    def begin(count: int) -> None:
        for number in range(count):
            threads.append(threading.Thread(target=consume, args=(f"billing-{number}",)))
            threads[-1].start()

    yield begin
    end.set()
    for thread in threads:
        thread.join()


def test_who_has_what_and_how_far(
    broker: Broker, look: Look, members: Callable[[int], None]
) -> None:
    broker.create_topic("orders", partitions=3)
    page = look("groups")
    expect(page.get_by_text("There is no group.")).to_be_visible()
    members(2)
    page.get_by_role("link", name="billing").click(timeout=30_000)
    expect(page.get_by_text("Stable").first).to_be_visible(timeout=30_000)
    table = page.get_by_role("region", name="Partitions and members")
    expect(table.get_by_text("has it")).to_have_count(3, timeout=30_000)
    broker.produce("orders", "one", partition=1)
    row = table.get_by_role("row").filter(has_text="orders 1")
    expect(row.get_by_role("cell").first).to_have_text("1", timeout=10_000)
    expect(page.get_by_role("img", name="Lag since")).to_be_visible()


def test_a_rebalance_and_a_kick(broker: Broker, look: Look, members: Callable[[int], None]) -> None:
    broker.create_topic("orders", partitions=2)
    members(1)
    broker.wait_for_group("billing", state="Stable", members=1)
    page = look("groups/billing")
    page.get_by_role("button", name="Rebalance").click()
    expect(page.get_by_text("Rebalance: done")).to_be_visible()
    steps = page.get_by_label("Steps, the newest first")
    expect(steps).to_contain_text("a rebalance begins: asked for by a test")
    expect(steps).to_contain_text("a rebalance begins: member billing-0-")
    broker.wait_for_group("billing", state="Stable", members=1)
    page.get_by_role("button", name="Kick member").click()
    expect(page.get_by_text("Kick billing-0: done")).to_be_visible()
    expect(steps.get_by_text(" left").first).to_be_visible()
    broker.wait_for_group("billing", state="Stable", members=1)


def test_a_transaction_is_seen_and_aborted(broker: Broker, look: Look) -> None:
    page = look("groups")
    expect(page.get_by_text("There is no transactional id.")).to_be_visible()
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "ledger"})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("orders", "open")
    producer.flush(20)
    row = page.get_by_role("row").filter(has_text="ledger")
    expect(row).to_contain_text("Ongoing")
    expect(row).to_contain_text("orders [")
    row.get_by_role("button", name="Abort").click()
    expect(page.get_by_text("Abort ledger: done")).to_be_visible()
    expect(row).to_contain_text("Empty")
