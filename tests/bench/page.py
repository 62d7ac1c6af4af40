"""What the page in the browser costs: how soon it is there, and the broker's CPU while it is open.

    python -m tests.bench.page [--topics 10000] [--rate 5000] [--seconds 10] [--rounds 4]

First: how soon the list of very many topics is painted. Bound: 1 s. Then: a client sends small
Produce requests at a rate while the journal records headers, in turns without and with the page
open at its first view. The CPU is the broker's; bound of the ratio: 1.10.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, sync_playwright

from tests.bench.bytecode import write_bytecode
from tests.bench.load_client import LoadClient, batch_of, cpu_s, create_topic, produce_frame
from tests.browser.conftest import ARGUMENTS, NAMES
from tests.support.broker_process import BrokerProcess

_AT_A_TIME: Final = 20
_PAINT_BOUND_MS: Final = 1000
_RATIO_BOUND: Final = 1.10


def _ask(url: str, method: str, path: str, body: object) -> None:
    request = urllib.request.Request(url + path, json.dumps(body).encode(), method=method)
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=60) as answer:
        answer.read()


def _paint(browser: Browser, broker: BrokerProcess, topics: int) -> None:
    """Measure when the list of topics is there, from the begin of the navigation on."""
    for number in range(topics):
        _ask(broker.control_url, "POST", "/v1/topics", {"name": f"topic-{number:05d}"})
        if number % 1000 == 999:
            print(f"{number + 1} topics made", file=sys.stderr)
    found = []
    for _ in range(5):
        page = browser.new_page()
        page.goto(f"{broker.control_url}/#/topics")
        page.get_by_role("link", name="topic-00000").wait_for()
        found.append(float(page.evaluate("performance.now()")))
        page.close()
    print(f"{topics} topics are painted after {min(found):.0f} to {max(found):.0f} ms", end="")
    print(f", bound {_PAINT_BOUND_MS}")


def _load(broker: BrokerProcess, rate: int, seconds: float) -> float:
    """Send Produce requests at a rate; return the broker's CPU in us a request."""
    frame = produce_frame("load", batch_of(1, 100))
    frames = frame * _AT_A_TIME
    client = LoadClient(broker.host, broker.port)
    sent, began, before = 0, time.perf_counter(), cpu_s(broker.pid)
    while (now := time.perf_counter()) < began + seconds:
        due = began + sent / rate
        if due > now:
            time.sleep(due - now)
        client.run(lambda _: frames, 1, 1)
        for _ in range(_AT_A_TIME - 1):
            client.skip()
        sent += _AT_A_TIME
    used = cpu_s(broker.pid) - before
    client.close()
    return used / sent * 1e6


def _cost(browser: Browser, broker: BrokerProcess, options: argparse.Namespace) -> None:
    """Measure the broker's CPU without and with the page, in turns."""
    create_topic(broker.host, broker.port, "load")
    _ask(broker.control_url, "PUT", "/v1/requests/recording", {"recording": "headers"})
    _load(broker, options.rate, 2)
    without, with_page = [], []
    for _ in range(options.rounds):
        without.append(_load(broker, options.rate, options.seconds))
        page = browser.new_page()
        page.goto(broker.control_url)
        page.get_by_role("row").nth(5).wait_for()
        with_page.append(_load(broker, options.rate, options.seconds))
        told = page.get_by_role("status").filter(has_text="left out").inner_text()
        page.close()
    alone, watched = min(without), min(with_page)
    print(f"journal alone {alone:.2f} us a request, with the page {watched:.2f}", end="")
    print(f": ratio {watched / alone:.3f}, bound {_RATIO_BOUND}; the page: {told}")


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--rate", type=int, default=5000, help="requests a second")
    parser.add_argument("--seconds", type=float, default=10, help="of a round")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm"), help="where the data is")
    options = parser.parse_args()
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        print("there is no chromium", file=sys.stderr)
        return 1
    write_bytecode()
    with (
        tempfile.TemporaryDirectory(prefix="bench-", dir=options.folder) as name,
        BrokerProcess(Path(name) / "data", arguments=("--control", "127.0.0.1:0")) as broker,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        _cost(browser, broker, options)
        if options.topics:
            _paint(browser, broker, options.topics)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
