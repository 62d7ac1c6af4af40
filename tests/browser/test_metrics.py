"""What clients push of themselves, in a browser."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from broker_lite.testing import Broker
from tests.support.pushed_metrics import PushingClient, message

Look = Callable[..., Page]


def test_a_subscription_and_a_client(broker: Broker, look: Look) -> None:
    page = look("metrics")
    expect(page.get_by_text("No client is to push metrics.")).to_be_visible()
    expect(page.get_by_text("No client has asked what it is to push.")).to_be_visible()
    page.get_by_role("button", name="Subscribe to all metrics").click()
    row = page.get_by_role("region", name="Subscriptions").get_by_role("row").nth(1)
    expect(row).to_contain_text("page")
    expect(row).to_contain_text("1.0 s")
    with PushingClient(broker.bootstrap, "shop") as client:
        assert client.push(message({"a.b": 1.5}, {"a.c": 2}, {"topic": "t"}, group_id="g")) == 0
        page.get_by_role("link", name="shop").click()
        table = page.get_by_role("region", name="Metrics of")
        expect(table.get_by_role("row").nth(1)).to_contain_text("a.b")
        expect(table.get_by_role("row").nth(2)).to_contain_text("counter")
        expect(page.get_by_text("group_id g")).to_be_visible()
        page.get_by_label("Name begins with").fill("a.c")
        expect(table.get_by_role("row")).to_have_count(2)
        page.get_by_label("Name begins with").fill("x")
        expect(page.get_by_text("It has pushed no such metric.")).to_be_visible()
    page.get_by_role("link", name="Client metrics").click()
    page.get_by_role("button", name="Remove page").click()
    expect(page.get_by_text("Remove page: done")).to_be_visible()
    expect(page.get_by_text("No client is to push metrics.")).to_be_visible()


def test_a_client_without_an_id_is_known_by_its_instance(broker: Broker, look: Look) -> None:
    page = look("metrics")
    page.get_by_role("button", name="Subscribe to all metrics").click()
    row = page.get_by_role("region", name="Subscriptions").get_by_role("row").nth(1)
    expect(row).to_contain_text("page")
    with (
        PushingClient(broker.bootstrap, "") as client,
        PushingClient(broker.bootstrap, "") as other,
    ):
        assert client.push(message({"a.b": 1.5})) == 0
        assert other.push(message({"a.c": 1.5})) == 0
        page.get_by_role("link", name="(no name)").first.click()
        expect(page.get_by_role("heading", name="(no name)")).to_be_visible()
        table = page.get_by_role("region", name="Metrics of")
        expect(table).to_have_count(1)
        expect(table.get_by_role("row").nth(1)).to_contain_text("a.b")
