"""Topics, their records and files, and records that a person produces."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Page, expect

from broker_lite.testing import Broker

Look = Callable[..., Page]
NOON_MS = int(datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp() * 1000)


def test_topics_are_listed_and_found_by_a_part_of_the_name(broker: Broker, look: Look) -> None:
    page = look("topics")
    expect(page.get_by_text("There is no topic yet.")).to_be_visible()
    broker.create_topic("orders", partitions=3, configs={"retention.ms": "1000"})
    broker.create_topic("bills")
    expect(page.get_by_role("row").filter(has_text="orders")).to_contain_text("retention.ms=1000")
    page.get_by_label("Name").fill("ill")
    expect(page.get_by_role("link", name="bills")).to_be_visible()
    expect(page.get_by_role("link", name="orders")).to_have_count(0)
    page.get_by_label("Name").fill("nothing")
    expect(page.get_by_text("No topic has such a name.")).to_be_visible()


def test_records_are_shown_in_each_form(broker: Broker, look: Look) -> None:
    broker.produce("orders", '{"a": [1, 2]}', key="k", headers=[("trace", b"abc")])
    broker.produce("orders", b"\xff\x00")
    page = look("topics")
    page.get_by_role("link", name="orders").click()
    records = page.get_by_role("region", name="Records")
    expect(records.get_by_role("row").filter(has_text='{"a": [1, 2]}')).to_contain_text(
        "trace: abc"
    )
    page.get_by_label("Show values as").select_option("JSON")
    expect(records.locator("pre").filter(has_text='"a": [')).to_have_text(
        '{\n  "a": [\n    1,\n    2\n  ]\n}'
    )
    page.get_by_label("Show values as").select_option("hex")
    expect(records.get_by_text("ff 00")).to_be_visible()


def test_seek_by_offset_and_time_and_back_to_the_tail(broker: Broker, look: Look) -> None:
    broker.create_topic("orders", partitions=1)
    for number in range(120):
        broker.produce("orders", f"v{number}", timestamp_ms=NOON_MS + number * 60_000)
    page = look("topics/orders")
    records = page.get_by_role("region", name="Records")
    expect(records.get_by_role("cell", name="v119", exact=True)).to_be_visible()
    expect(records.get_by_role("cell", name="v69", exact=True)).to_have_count(0)
    page.get_by_label("Go to").fill("7")
    page.get_by_role("button", name="Seek").click()
    expect(records.get_by_role("cell", name="v7", exact=True)).to_be_visible()
    expect(records.get_by_role("cell", name="v6", exact=True)).to_have_count(0)
    page.get_by_role("button", name="Older").click()
    expect(records.get_by_role("cell", name="v0", exact=True)).to_be_visible()
    page.get_by_label("Go to").fill("2026-01-31T13:00:00Z")
    page.get_by_role("button", name="Seek").click()
    expect(records.get_by_role("cell", name="v60", exact=True)).to_be_visible()
    expect(records.get_by_role("cell", name="v59", exact=True)).to_have_count(0)
    page.get_by_label("Go to").fill("-what")
    page.get_by_role("button", name="Seek").click()
    expect(page.get_by_role("alert")).to_contain_text("is no offset and no time")
    page.get_by_role("button", name="Tail").click()
    broker.produce("orders", "newest")
    expect(records.get_by_role("cell", name="newest", exact=True)).to_be_visible()


def test_a_person_produces_edits_and_produces_again(broker: Broker, look: Look) -> None:
    broker.create_topic("orders", partitions=2)
    page = look("topics/orders/1")
    box = page.get_by_label("Produce records")
    box.fill('{"key": "k", "value": "first", "headers": {"h": "1"}}')
    page.get_by_role("button", name="Produce", exact=True).click()
    expect(page.get_by_text("Produce: done")).to_be_visible()
    row = page.get_by_role("region", name="Records").get_by_role("row").filter(has_text="first")
    row.get_by_role("button", name="Edit and produce").click()
    expect(box).to_have_value('{"partition":1,"key":"k","value":"first","headers":[["h","1"]]}')
    box.fill(box.input_value().replace("first", "second"))
    page.get_by_role("button", name="Produce", exact=True).click()
    expect(page.get_by_role("cell", name="second", exact=True)).to_be_visible()
    assert [each.value for each in broker.records("orders")] == [b"first", b"second"]


@pytest.mark.parametrize("text", ["no JSON", '{"value": {"base64": "?"}}', ""])
def test_what_cannot_be_produced_is_told(broker: Broker, look: Look, text: str) -> None:
    broker.create_topic("orders", partitions=1)
    page = look("topics/orders")
    page.get_by_label("Produce records").fill(text)
    page.get_by_role("button", name="Produce", exact=True).click()
    expect(page.get_by_text("Produce: ")).not_to_contain_text("done")
    assert broker.records("orders") == []


def test_the_files_of_a_partition(broker: Broker, look: Look) -> None:
    broker.create_topic("orders", partitions=1, configs={"segment.bytes": "1048576"})
    for _ in range(2):
        broker.produce("orders", b"x" * 700_000)
    page = look("topics/orders")
    page.get_by_text("Files of the partition").click()
    files = page.get_by_role("region", name="Segments in orders-0")
    expect(files.get_by_role("row")).to_have_count(3)
    expect(files).to_contain_text("00000000000000000001.log")
    expect(files).to_contain_text("active")


def test_a_topic_that_is_not_there(look: Look) -> None:
    page = look("topics/nothing")
    expect(page.get_by_role("alert")).to_contain_text("there is no topic 'nothing'")
