"""Brokers, leaders, connections with who waits for whom, habits of clients."""

import re
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer
from playwright.sync_api import Page, expect

from broker_lite.testing import Broker
from tests.browser.conftest import Watched, url_of

Look = Callable[..., Page]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Broker]:
    with Broker({"broker.lite.control": "127.0.0.1:0"}, brokers=3, topics=["orders:3"]) as started:
        yield started


def test_a_broker_crashes_and_comes_back(cluster: Broker, watched: Watched) -> None:
    page = watched.open(f"{url_of(cluster)}/#/brokers")
    row = page.get_by_role("region", name="Brokers").get_by_role("row").nth(2)
    expect(row).to_contain_text("up")
    page.get_by_role("button", name="Crash broker 2").click()
    expect(row).to_contain_text("down")
    page.get_by_role("button", name="Bring up broker 2").click()
    expect(row).to_contain_text("up")
    page.get_by_role("button", name="Hang broker 2").click()
    expect(row).to_contain_text("hung")
    page.get_by_role("button", name="Bring all back").click()
    expect(row).to_contain_text("up")
    page.get_by_role("button", name="Restart one after the other").click()
    expect(page.get_by_text("Rolling restart: done")).to_be_visible()


def test_leaders_of_a_topic(cluster: Broker, watched: Watched) -> None:
    page = watched.open(f"{url_of(cluster)}/#/brokers")
    expect(page.get_by_text("0: broker")).to_be_visible()
    expect(page.get_by_label("Topic")).to_have_value("orders")


def test_connections_and_who_waits(broker: Broker, look: Look) -> None:
    page = look("brokers")
    expect(page.get_by_text("No client is connected.")).to_be_visible()
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce("orders", "one")
    assert producer.flush(10) == 0
    table = page.get_by_role("region", name="Connections")
    expect(table.get_by_text("nobody").first).to_be_visible()
    bar = table.get_by_role("img", name=re.compile("^does not ask (100|99) %, does not read"))
    expect(bar.first).to_be_visible()
    page.get_by_role("button", name="Reset connection").first.click()
    expect(page.get_by_text(": done")).to_be_visible()


def test_habits_are_told(broker: Broker, look: Look) -> None:
    broker.control("PUT", "/v1/requests/recording", {"recording": "headers"})
    settings = {"bootstrap.servers": broker.bootstrap, "batch.num.messages": 1, "client.id": "shop"}
    producer = Producer(settings)
    for _ in range(300):
        producer.produce("orders", "x")
    assert producer.flush(20) == 0
    page = look("brokers")
    finding = page.locator(".finding").first
    expect(finding).to_contain_text("shop")


def test_users_and_tls_are_told_where_they_are_on(watched: Watched) -> None:
    settings = {"broker.lite.control": "127.0.0.1:0", "broker.lite.security": "sasl_ssl"}
    with Broker(settings) as broker:
        page = watched.open(f"{url_of(broker)}/#/brokers")
        expect(page.get_by_role("heading", name="Security")).to_be_visible()
        expect(page.get_by_text("over SASL_SSL, mechanisms")).to_be_visible()
        expect(page.get_by_text("user / user-secret", exact=True)).to_be_visible()
        expect(page.get_by_role("link", name="ca.pem")).to_be_visible()
