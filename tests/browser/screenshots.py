"""Pictures of all views for the docs: a browser looks at a broker that real clients use.

    python -m tests.browser.screenshots [--folder docs/use/page] [--all]

Without --all, each view is taken once, as the docs show it; with it, in light and dark, wide and
narrow, to be looked at.
"""

import argparse
import json
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, Producer
from playwright.sync_api import Browser, Page, expect, sync_playwright

from broker_lite.testing import Broker
from tests.browser.conftest import ARGUMENTS, NAMES, url_of
from tests.browser.groups_of_members import sharing, streaming
from tests.browser.test_refusals import broken_crc, send
from tests.support.pushed_metrics import PushingClient, message

_WIDE: Final = (1280, 800)
_NARROW: Final = (420, 800)
_VIEWS: Final = {
    # the members of these two do nothing, so their locks and sessions end soon
    "groups/jobs": "light",
    "groups/words": "dark",
    "live": "light",
    "topics": "light",
    "topics/orders": "light",
    "groups": "dark",
    "groups/billing": "light",
    "refusals": "dark",
    "faults": "light",
    "brokers": "light",
    "metrics": "light",
    "metrics/app": "dark",
}
_SETTLE_MS: Final = 4000
_PUSHED: Final = (
    {"org.apache.kafka.consumer.fetch.manager.fetch.latency.avg": 12.5},
    {"org.apache.kafka.consumer.fetch.manager.records.consumed.total": 1500},
    {"topic": "orders"},
)


@contextmanager
def _busy(broker: Broker) -> Iterator[None]:
    """Let clients produce, consume, and keep a transaction open."""
    end = threading.Event()

    def produce() -> None:
        producer = Producer({"bootstrap.servers": broker.bootstrap, "client.id": "shop"})
        number = 0
        while not end.wait(0.1):
            number += 1
            value = json.dumps({"order": number, "items": ["tea", "cup"], "total": number * 1.5})
            producer.produce("orders", value, key=f"k{number % 7}", headers=[("trace", b"a1")])
            producer.poll(0)

    def consume(number: int) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": "billing",
                "client.id": f"billing-{number}",
                "auto.offset.reset": "earliest",
            }
        )
        consumer.subscribe(["orders"])
        while not end.is_set():
            consumer.poll(0.1)
        consumer.close()

    threads = [threading.Thread(target=produce)]
    threads += [threading.Thread(target=consume, args=(number,)) for number in (1, 2)]
    ledger = Producer(
        {"bootstrap.servers": broker.bootstrap, "client.id": "ledger", "transactional.id": "ledger"}
    )
    ledger.init_transactions(20)
    ledger.begin_transaction()
    ledger.produce("orders", "open")
    ledger.flush(20)
    for thread in threads:
        thread.start()
    broker.wait_for_group("billing", state="Stable", members=2)
    send(broker, "orders", broken_crc())
    broker.control("POST", "/v1/faults", {"keys": ["Produce"], "topic": "order", "drop": "after"})
    time.sleep(2)
    try:
        yield
    finally:
        end.set()
        for thread in threads:
            thread.join()


def _take(page: Page, view: str, url: str, path: Path) -> None:
    page.goto(f"{url}/#/{view}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_timeout(_SETTLE_MS)
    if view == "live":
        page.keyboard.press(" ")
        page.get_by_role("row").filter(has_text="Produce").first.click()
        page.wait_for_timeout(500)
    page.screenshot(path=path)
    print(path)


def _take_all(
    browser: Browser, url: str, folder: Path, views: Sequence[str], *, everything: bool
) -> None:
    sizes = (_WIDE, _NARROW) if everything else (_WIDE,)
    for width, height in sizes:
        for view in views:
            for scheme in ("light", "dark") if everything else (_VIEWS[view],):
                context = browser.new_context(
                    color_scheme="dark" if scheme == "dark" else "light",
                    viewport={"width": width, "height": height},
                )
                name = view.replace("/", "-")
                more = f"-{scheme}-{width}" if everything else ""
                _take(context.new_page(), view, url, folder / f"{name}{more}.png")
                context.close()


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("docs/use/page"))
    parser.add_argument("--views", nargs="*", default=[*_VIEWS], help="only these")
    parser.add_argument("--all", action="store_true", help="light and dark, wide and narrow")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        print("there is no chromium", file=sys.stderr)
        return 1
    settings = {"broker.lite.control": "127.0.0.1:0"}
    topics = ["orders:3", "accounts:1:cleanup.policy=compact"]
    with Broker(settings, topics=topics) as broker, sync_playwright() as driver:
        broker.control("PUT", "/v1/requests/recording", {"recording": "bodies"})
        browser = driver.chromium.launch(executable_path=found, args=ARGUMENTS)
        broker.subscribe_telemetry()
        with (
            _busy(broker),
            sharing(broker),
            streaming(broker),
            PushingClient(broker.bootstrap, "app") as client,
        ):
            client.push(message(*_PUSHED, group_id="billing"))
            _take_all(
                browser, url_of(broker), options.folder, options.views, everything=options.all
            )
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
