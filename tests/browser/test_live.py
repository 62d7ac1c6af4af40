"""The first view: requests as they come, and what can be done with one."""

import struct
from collections.abc import Callable
from typing import Final

import pytest
from confluent_kafka import Producer
from playwright.sync_api import Page, expect

from broker_lite.testing import Broker
from tests.browser.conftest import Watched
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import free_port

METADATA_KEY: Final = 3
REQUESTS: Final = 1000


def record(broker: Broker, what: str = "bodies") -> None:
    broker.control("PUT", "/v1/requests/recording", {"recording": what})


def produce(broker: Broker, *values: str, client: str = "shop", topic: str = "orders") -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "client.id": client})
    for value in values:
        producer.produce(topic, value)
        assert producer.flush(10) == 0


def copied(page: Page) -> str:
    text = page.evaluate("navigator.clipboard.readText()")
    assert isinstance(text, str)
    return text


def test_one_click_begins_to_record(broker: Broker, page: Page) -> None:
    expect(page.get_by_text("Nothing is recorded.")).to_be_visible()
    page.get_by_role("button", name="Record requests").click()
    expect(page.get_by_text("No request has come yet.")).to_be_visible()
    expect(page.get_by_text(broker.bootstrap).first).to_be_visible()
    produce(broker, "one")
    row = page.get_by_role("row").filter(has_text="Produce")
    expect(row).to_contain_text("orders[0] 1 record")
    expect(row).to_contain_text("OK")


def test_a_click_opens_the_request_decoded_and_its_bytes(broker: Broker, page: Page) -> None:
    record(broker)
    produce(broker, "a value")
    page.get_by_role("row").filter(has_text="Produce").click()
    detail = page.get_by_role("complementary")
    expect(detail).to_contain_text("acks -1")
    expect(detail).to_contain_text("error NONE")
    detail.get_by_role("tab", name="Bytes of the request").click()
    expect(detail.get_by_label("Fields")).to_contain_text("a value")
    expect(detail.get_by_text("The broker takes these bytes.")).to_be_visible()
    detail.get_by_role("button", name="Copy as make_batch").click()
    assert copied(page) == 'make_batch(b"a value")'
    detail.get_by_role("tab", name="Bytes of the answer").click()
    expect(detail.get_by_label("Fields")).to_contain_text("base_offset")
    detail.get_by_role("button", name="Close").click()
    expect(detail).to_have_count(0)


def test_a_request_is_copied_as_a_rule_that_the_broker_takes(broker: Broker, page: Page) -> None:
    record(broker)
    produce(broker, "one")
    page.get_by_role("row").filter(has_text="Produce").click()
    page.get_by_role("button", name="Copy as rule").click()
    expect(page.get_by_role("button", name="copied")).to_be_visible()
    rule = copied(page)
    page.goto(page.url.partition("#")[0] + "#/faults")
    page.get_by_label("A rule as JSON").fill(rule)
    page.locator("form").get_by_role("button", name="Put in force").click()
    expect(page.get_by_role("row").filter(has_text="NOT_LEADER_OR_FOLLOWER")).to_be_visible()
    produce(broker, "two")
    expect(page.get_by_role("row").filter(has_text="NOT_LEADER_OR_FOLLOWER")).to_contain_text("f1")
    fault = broker.control("GET", "/v1/faults")
    assert isinstance(fault, list)
    assert fault[0]["hits"] == 1


@pytest.mark.parametrize(
    ("button", "part"),
    [("Copy as pytest", "with broker.fault("), ("Copy as curl", "curl -s 'http://127.0.0.1:")],
)
def test_a_request_is_copied(broker: Broker, page: Page, button: str, part: str) -> None:
    record(broker)
    produce(broker, "one")
    page.get_by_role("row").filter(has_text="Produce").click()
    page.get_by_role("button", name=button).click()
    expect(page.get_by_role("button", name="copied")).to_be_visible()
    assert part in copied(page)


def test_a_test_that_is_copied_is_python(broker: Broker, page: Page) -> None:
    record(broker)
    produce(broker, "one", client='a "quoted" \\ name')
    page.get_by_role("row").filter(has_text="Produce").click()
    page.get_by_role("button", name="Copy as pytest").click()
    expect(page.get_by_role("button", name="copied")).to_be_visible()
    compile(copied(page), "copied", "exec")


def test_filters(broker: Broker, page: Page) -> None:
    record(broker)
    produce(broker, "one", client="shop")
    produce(broker, "two", client="till")
    page.get_by_label("Client id").fill("til*")
    expect(page.get_by_role("cell", name="till").first).to_be_visible()
    expect(page.get_by_role("cell", name="shop")).to_have_count(0)
    page.get_by_label("API").fill("Produce")
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_label("API").fill("Produse")
    expect(page.get_by_role("alert")).to_contain_text("Produse")
    page.get_by_label("API").fill("")
    page.get_by_label("only what failed").check()
    expect(page.get_by_text("No request fits the filter.")).to_be_visible()


def test_pause_and_keys(broker: Broker, page: Page) -> None:
    record(broker)
    produce(broker, "one")
    expect(page.get_by_role("row").filter(has_text="Produce")).to_have_count(1)
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    produce(broker, "two")
    expect(page.get_by_text("requests kept").last).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="Produce")).to_have_count(1)
    page.keyboard.press(" ")
    expect(page.get_by_role("row").filter(has_text="Produce")).to_have_count(2)
    page.keyboard.press("j")
    expect(page.get_by_role("complementary")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary")).to_have_count(0)
    page.keyboard.press("/")
    expect(page.get_by_label("API")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()


def test_forget_and_record_by_the_page(broker: Broker, page: Page) -> None:
    record(broker)
    produce(broker, "one")
    expect(page.get_by_role("row").filter(has_text="Produce")).to_have_count(1)
    page.get_by_role("button", name="Forget all").click()
    expect(page.get_by_text("No request has come yet.")).to_be_visible()
    page.get_by_label("Record").select_option("off")
    expect(page.get_by_text("Nothing is recorded.")).to_be_visible()


def test_too_many_requests_are_sampled_and_the_page_says_so(broker: Broker, page: Page) -> None:
    record(broker, "headers")
    expect(page.get_by_text("No request has come yet.")).to_be_visible()
    host, port = broker.bootstrap.split(":")
    body = struct.pack(">i", 0)
    with RawClient(host, int(port)) as client:
        client.send(METADATA_KEY, 1, body, flexible=False)
        # From here on the page follows; it would be told of all that came before, by and by.
        expect(page.get_by_role("row").filter(has_text="Metadata")).to_have_count(1)
        # They are sent before the first answer is read: a client that waits for answers is slower
        # than the page on a busy machine.
        for _ in range(REQUESTS):
            client.send(METADATA_KEY, 1, body, flexible=False)
        for _ in range(1 + REQUESTS):
            client.receive(flexible=False)
    expect(page.get_by_text("left out here, not in the journal")).to_be_visible()


def test_the_page_goes_on_after_a_restart_of_the_broker(watched: Watched) -> None:
    port = free_port()
    with Broker({"broker.lite.control": f"127.0.0.1:{port}"}) as broker:
        record(broker)
        page = watched.open(f"http://127.0.0.1:{port}/")
        produce(broker, "one")
        expect(page.get_by_role("row").filter(has_text="Produce")).to_have_count(1)
        broker.restart()
        record(broker)
        produce(broker, "two", topic="after")
        expect(page.get_by_role("row").filter(has_text="after[0]")).to_have_count(1)


def test_two_browsers_see_the_same(broker: Broker, look: Callable[..., Page]) -> None:
    record(broker)
    pages = [look(), look()]
    produce(broker, "one")
    for each in pages:
        expect(each.get_by_role("row").filter(has_text="Produce")).to_have_count(1)
    pages[0].reload()
    expect(pages[0].get_by_role("row").filter(has_text="Produce")).to_have_count(1)
