"""Every view without a violation of the rules of axe: labels, contrast, roles, headings."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from playwright.sync_api import Page, expect

from broker_lite.testing import Broker
from tests.browser.groups_of_members import sharing, streaming
from tests.browser.test_refusals import broken_crc, send
from tests.support.pushed_metrics import PushingClient, message
from tests.support.toolchain import require

Look = Callable[..., Page]
FOLDER = Path(__file__).parent
VIEWS = [
    "live",
    "topics",
    "topics/orders",
    "groups",
    "groups/billing",
    "groups/jobs",
    "groups/words",
    "refusals",
    "faults",
    "brokers",
    "metrics",
    "metrics/app",
]


@pytest.fixture(scope="session")
def axe() -> str:
    """The script that looks for violations."""
    require("npm")
    script = FOLDER / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        npm = ("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
        subprocess.run(npm, cwd=FOLDER, check=True, capture_output=True, timeout=300)
    return script.read_text()


@pytest.fixture
def newer_groups(broker: Broker) -> Iterator[None]:
    """A share group, a streams group, and a client that pushes metrics."""
    broker.subscribe_telemetry()
    with (
        sharing(broker),
        streaming(broker),
        PushingClient(broker.bootstrap, "app") as client,
    ):
        client.push(message({"a.b": 1.5}, {"a.c": 2}, {"topic": "t"}, group_id="g"))
        yield


@pytest.fixture
def busy(broker: Broker, newer_groups: None) -> Broker:
    """A broker with something to show in every view."""
    broker.control("PUT", "/v1/requests/recording", {"recording": "bodies"})
    broker.create_topic("orders", partitions=2)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "client.id": "shop"})
    producer.produce("orders", '{"a": 1}', key="k", headers=[("h", b"1")])
    assert producer.flush(10) == 0
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["orders"])
    while consumer.poll(0.2) is None:
        pass
    consumer.commit(asynchronous=False)
    send(broker, "orders", broken_crc())
    broker.control("POST", "/v1/faults", {"keys": ["Produce"], "topic": "order", "drop": "after"})
    broker.control("POST", "/v1/scripts", {"name": "lost", "rules": []})
    return broker


def violations(page: Page, axe: str) -> list[str]:
    """What is wrong in a page: the rule, and the first element that breaks it.

    The policy of the page forbids foreign scripts, so this one is evaluated by the driver.
    """
    page.evaluate(axe + ";0")
    found = page.evaluate("axe.run()")
    return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found["violations"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 420])
def test_every_view(busy: Broker, look: Look, axe: str, scheme: str, width: int) -> None:
    page = look(color_scheme=scheme, viewport={"width": width, "height": 900})
    found = {}
    for view in VIEWS:
        page.goto(page.url.partition("#")[0] + f"#/{view}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_text("Loading ...", exact=True)).to_have_count(0)
        expect(page.get_by_role("region").or_(page.locator(".pane")).first).to_be_visible()
        found[view] = violations(page, axe)
    page.goto(page.url.partition("#")[0] + "#/live")
    page.get_by_role("row").filter(has_text="Produce").first.click()
    expect(page.get_by_role("complementary").get_by_text("acks")).to_be_visible()
    found["a request"] = violations(page, axe)
    page.get_by_role("tab", name="Bytes of the request").click()
    expect(page.get_by_label("Fields")).to_be_visible()
    found["its bytes"] = violations(page, axe)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    found["keys"] = violations(page, axe)
    assert {view: some for view, some in found.items() if some} == {}


def test_the_empty_views(broker: Broker, look: Look, axe: str) -> None:
    page = look()
    for view in ("live", "topics", "groups", "faults", "brokers", "metrics"):
        page.goto(page.url.partition("#")[0] + f"#/{view}")
        expect(page.locator(".empty").first).to_be_visible()
        assert violations(page, axe) == [], view


def test_a_keyboard_is_enough(busy: Broker, look: Look) -> None:
    page = look("live")
    expect(page.get_by_role("row").filter(has_text="Produce").first).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("4")
    expect(page.get_by_role("heading", level=1)).to_have_text("Refusals")
    expect(page.locator(".field.refused")).to_be_visible()
