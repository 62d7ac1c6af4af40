"""Names that a stranger chose are texts: no script runs, nothing is turned around or torn apart."""

from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, Producer
from playwright.sync_api import Page, expect

from broker_lite.testing import Broker

Look = Callable[..., Page]
SCRIPT = "</td><script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'>"
TURNED = "abc\u202egnp.exe\u2066"
LONG = "k" * 32_000
VIEWS = ["live", "topics", "topics/orders", "groups", "refusals", "faults", "brokers"]


def is_whole(page: Page) -> bool:
    """No script of a stranger ran, and the page is as wide as its window."""
    return bool(
        page.evaluate(
            "window.hurt === undefined"
            " && document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        )
    )


@pytest.mark.parametrize("text", [SCRIPT, TURNED, LONG], ids=["script", "turned", "long"])
def test_names_of_clients_keys_and_values_are_texts(broker: Broker, look: Look, text: str) -> None:
    broker.control("PUT", "/v1/requests/recording", {"recording": "bodies"})
    producer = Producer({"bootstrap.servers": broker.bootstrap, "client.id": text})
    producer.produce("orders", text, key=text, headers=[(text[:100], text.encode())])
    assert producer.flush(10) == 0
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": text, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["orders"])
    while consumer.poll(0.2) is None:
        pass
    consumer.commit(asynchronous=False)
    rule = {"keys": ["Produce"], "client_id": text[:900], "drop": "after"}
    broker.control("POST", "/v1/faults", rule)
    for width in (1400, 420):
        page = look(viewport={"width": width, "height": 900})
        for view in VIEWS:
            page.goto(page.url.partition("#")[0] + f"#/{view}")
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            expect(page.get_by_text("Loading ...", exact=True)).to_have_count(0)
            assert is_whole(page), view
        page.get_by_role("link", name="Live").click()
        page.get_by_role("row").filter(has_text="Produce").first.click()
        expect(page.get_by_role("complementary")).to_be_visible()
        assert is_whole(page)
    page.goto(page.url.partition("#")[0] + "#/topics/orders")
    expect(page.get_by_role("region", name="Records").get_by_role("row")).to_have_count(2)
    shown = page.get_by_role("region", name="Records").inner_text()
    assert "\u202e" not in shown
    assert "\u2066" not in shown
    if text is TURNED:
        assert "abc\\u202egnp.exe\\u2066" in shown
    consumer.close()


@pytest.mark.parametrize(
    "place", ["#/%zz", "#/nothing", "#//", "#/topics/%2e%2e%2f", "#/groups/a%2Fb"]
)
def test_odd_addresses_lead_to_a_view(broker: Broker, look: Look, place: str) -> None:
    page = look()
    page.goto(page.url.partition("#")[0] + place)
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_many_topics_are_narrowed_down(broker: Broker, look: Look) -> None:
    for number in range(300):
        broker.control("POST", "/v1/topics", {"name": f"t{number:05d}"})
    page = look("topics")
    expect(page.get_by_text("The first 200 are shown")).to_be_visible()
    page.get_by_label("Name").fill("t00299")
    expect(page.get_by_role("link", name="t00299")).to_be_visible()
