"""Rules: put in force, seen, released, removed; ready-made ones; scripts."""

import threading
from collections.abc import Callable

from confluent_kafka import Producer
from playwright.sync_api import Page, expect

from broker_lite.testing import Broker

Look = Callable[..., Page]


def test_every_ready_made_rule_is_one_that_the_broker_takes(broker: Broker, look: Look) -> None:
    page = look("faults")
    expect(page.get_by_text("No rule is in force")).to_be_visible()
    buttons = page.get_by_role("button", name="Put in force: ")
    assert buttons.count() == 12
    for number in range(12):
        buttons.nth(number).click()
        rows = page.get_by_role("region", name="Rules in their order").get_by_role("row")
        expect(rows).to_have_count(number + 2)
    page.get_by_role("button", name="Remove all").click()
    expect(page.get_by_text("No rule is in force")).to_be_visible()
    assert broker.control("GET", "/v1/faults") == []


def test_a_request_is_held_and_released(broker: Broker, look: Look) -> None:
    broker.create_topic("orders")
    page = look("faults")
    page.get_by_role("button", name="Put in force: Hold produce").click()
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce("orders", "one")
    flushed = threading.Thread(target=producer.flush, args=(20,))
    flushed.start()
    page.get_by_role("button", name="Release").click()
    flushed.join()
    assert len(broker.records("orders")) == 1
    page.get_by_role("button", name="Remove f").click()
    expect(page.get_by_text("No rule is in force")).to_be_visible()


def test_nearest_misses_are_told(broker: Broker, look: Look) -> None:
    broker.control("POST", "/v1/faults", {"keys": ["Produce"], "topic": "order", "drop": "after"})
    broker.produce("orders", "x")
    page = look("faults")
    expect(page.get_by_text("topic 'orders' is not 'order'")).to_be_visible()


def test_a_rule_is_edited_and_refused_in_words(broker: Broker, look: Look) -> None:
    page = look("faults")
    page.get_by_role("button", name="Edit: Leader moved").click()
    box = page.get_by_label("A rule as JSON")
    box.fill(box.input_value().replace("NOT_LEADER_OR_FOLLOWER", "NOT_LEDAER"))
    page.locator("form").get_by_role("button", name="Put in force").click()
    expect(page.get_by_role("status").filter(has_text="NOT_LEDAER")).to_be_visible()
    assert broker.control("GET", "/v1/faults") == []


def test_a_rule_is_copied_as_python(broker: Broker, look: Look) -> None:
    broker.control("POST", "/v1/faults", {"keys": ["Produce"], "hold": True, "count": -1})
    page = look("faults")
    page.get_by_role("button", name="Copy as pytest").click()
    expect(page.get_by_role("button", name="copied")).to_be_visible()
    text = page.evaluate("navigator.clipboard.readText()")
    compile(text, "copied", "exec")
    assert "hold=True" in text


def test_a_script_is_seen_and_ended(broker: Broker, look: Look) -> None:
    rule = {"keys": ["Produce"], "error": "NOT_LEADER_OR_FOLLOWER"}
    broker.control("POST", "/v1/scripts", {"name": "lost", "rules": [rule]})
    page = look("faults")
    page.locator("details").filter(has_text="lost").locator("summary").click()
    page.get_by_role("button", name="End", exact=True).click()
    expect(page.get_by_text("End the script: done")).to_be_visible()
    expect(page.get_by_text("No script runs.")).to_be_visible()
