"""From the page to the wrong byte: refused requests with their fields and bytes."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from broker_lite.testing import Broker, make_batch
from broker_lite.wire import messages
from tests.browser.conftest import Watched, url_of
from tests.support.raw_client import RawClient

Look = Callable[..., Page]


def send(broker: Broker, topic: str, records: bytes) -> None:
    with RawClient(broker.host, broker.port) as client:
        kind = messages.ProduceRequest
        data = kind.PartitionProduceData(index=0, records=records)
        asked = [kind.TopicProduceData(name=topic, partition_data=[data])]
        client.request(kind, kind(acks=-1, timeout_ms=1000, topic_data=asked), 9)


def broken_crc() -> bytes:
    data = bytearray(make_batch(b"value"))
    data[17] ^= 0x40
    return bytes(data)


def wrong_sequence() -> bytes:
    return make_batch(b"value", producer_id=1000, producer_epoch=0, base_sequence=7)


def test_nothing_was_refused(watched: Watched) -> None:
    with Broker({"broker.lite.control": "127.0.0.1:0"}) as broker:
        page = watched.open(f"{url_of(broker)}/#/refusals")
        expect(page.get_by_text("No request has been refused.")).to_be_visible()


@pytest.mark.parametrize(
    ("records", "field", "rule", "wrong"),
    [
        pytest.param(broken_crc(), "crc", "V-20", 4, id="V-20-broken-crc"),
        pytest.param(make_batch(b"no key"), "key_length", "V-44", 1, id="V-44-null-key"),
        pytest.param(
            make_batch(b"no key" * 9, compression="gzip"),
            "key_length",
            "V-44",
            1,
            id="V-44-in-gzip",
        ),
    ],
)
def test_one_click_leads_to_the_wrong_byte(
    broker: Broker, page: Page, records: bytes, field: str, rule: str, wrong: int
) -> None:
    """The number on the tab is the click; the wrong bytes are marked without another."""
    broker.create_topic("accounts", configs={"cleanup.policy": "compact"})
    send(broker, "accounts", records)
    page.get_by_role("link", name="Refusals").click()
    refused = page.locator(".field.refused")
    expect(refused).to_contain_text(field)
    expect(refused).to_contain_text(rule)
    expect(refused).to_contain_text("expected")
    expect(refused).to_be_in_viewport()
    pane = page.locator(".pane").first
    expect(pane.locator(".hex .row > span:nth-child(2) b.refused")).to_have_count(wrong)
    expect(pane.locator(".field.not-read").first).to_be_attached()


def test_a_wrong_sequence(broker: Broker, page: Page) -> None:
    broker.create_topic("orders")
    send(
        broker, "orders", make_batch(b"value", producer_id=1000, producer_epoch=0, base_sequence=0)
    )
    send(broker, "orders", wrong_sequence())
    page.get_by_role("link", name="Refusals").click()
    expect(page.locator(".field.refused")).to_contain_text("base_sequence")
    expect(page.locator(".field.refused")).to_contain_text("V-57")


def test_fields_and_bytes_are_linked_both_ways(broker: Broker, look: Look) -> None:
    broker.create_topic("orders")
    send(broker, "orders", broken_crc())
    page = look("refusals")
    magic = page.locator(".field").filter(has_text="magic")
    magic.hover()
    marked = page.locator(".hex .row > span:nth-child(2) b.marked")
    expect(marked).to_have_text(["02"])
    page.locator(".hex .row > span:nth-child(2) b").first.hover()
    expect(page.locator(".field.marked")).to_contain_text("size")


def test_bytes_are_copied_and_downloaded(broker: Broker, look: Look) -> None:
    broker.create_topic("orders")
    send(broker, "orders", broken_crc())
    page = look("refusals")
    page.get_by_role("button", name="Copy as hex").click()
    expect(page.get_by_role("button", name="copied")).to_be_visible()
    data = bytes.fromhex(page.evaluate("navigator.clipboard.readText()"))
    with page.expect_download() as found:
        page.get_by_role("button", name="Download .bin").click()
    assert found.value.path().read_bytes() == data
    assert re.fullmatch(r"x\d+\.bin", found.value.suggested_filename)
    assert broken_crc() in data


def test_a_request_of_a_megabyte_is_shown_in_pieces(broker: Broker, look: Look) -> None:
    broker.create_topic("orders")
    data = bytearray(make_batch(*[bytes(1000)] * 900))
    data[17] ^= 0x40
    send(broker, "orders", bytes(data))
    page = look("refusals")
    expect(page.locator(".field.refused")).to_be_in_viewport()
    assert page.locator(".hex b").count() < 10_000
    page.get_by_role("button", name="Show the bytes from").click()
    page.get_by_role("button", name="Show the bytes before").click()
    expect(page.locator(".hex b.refused").first).to_be_attached()
    page.get_by_role("button", name="Show the fields from").click()
    expect(page.get_by_role("button", name="Show the fields before")).to_be_attached()
