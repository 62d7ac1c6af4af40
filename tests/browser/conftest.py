"""A real browser that looks at the page of a broker, and clients that give it something to see.

The browser is the machine's Chromium; playwright drives it. Each test has a page of its own, and
fails if the page logged an error or asked another host for something.
"""

import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from broker_lite.testing import Broker
from tests.support.toolchain import lacking

NAMES = ("chromium", "chromium-browser", "google-chrome")
# A container has no user namespaces for its sandbox, and little room in /dev/shm.
ARGUMENTS = ("--no-sandbox", "--disable-dev-shm-usage")
TIMEOUT_MS = 20_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for the tests of one module.

    While playwright's driver runs, this thread has a running event loop, so no other test can have
    one. A module's tests follow each other, and at its end the driver ends.
    """
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        lacking("chromium")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def running() -> Iterator[Broker]:
    with Broker({"broker.lite.control": "127.0.0.1:0"}) as started:
        yield started


@pytest.fixture
def broker(running: Broker) -> Broker:
    """A broker without topics, faults and recorded requests."""
    running.reset()
    running.control("DELETE", "/v1/faults")
    running.control("PUT", "/v1/requests/recording", {"recording": "off"})
    running.control("DELETE", "/v1/requests")
    return running


def url_of(broker: Broker) -> str:
    """Where the page of a broker is."""
    return broker.log.rpartition("control API at ")[2].partition("\n")[0]


class Watched:
    """Contexts of a browser, and what went wrong in their pages."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self.problems: list[str] = []

    def open(self, url: str, **options: object) -> Page:
        """Open a page in a context of its own; options are those of the context."""
        context = self._browser.new_context(**options)  # type: ignore[arg-type]
        self._contexts.append(context)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.set_default_timeout(TIMEOUT_MS)
        page = context.new_page()
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("console", self._console)
        host = url.split("/")[2]
        page.on("request", lambda asked: self._asked(asked.url, host))
        page.goto(url)
        return page

    def _console(self, message: object) -> None:
        text, kind = getattr(message, "text", ""), getattr(message, "type", "")
        # a refusal of the control API is logged by the browser, too; the page tells it to people
        if kind == "error" and "Failed to load resource" not in text:
            self.problems.append(f"console: {text}")

    def _asked(self, url: str, host: str) -> None:
        if not url.startswith((f"http://{host}/", "blob:")):
            self.problems.append(f"asked {url}")

    def close(self) -> None:
        """Close all pages."""
        for context in self._contexts:
            context.close()


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    found = Watched(browser)
    yield found
    found.close()
    assert found.problems == []


@pytest.fixture
def look(watched: Watched, broker: Broker) -> Callable[..., Page]:
    """Open a view of the broker's page: look("topics/orders")."""

    def opened(view: str = "", **options: object) -> Page:
        return watched.open(f"{url_of(broker)}/#/{view}", **options)

    return opened


@pytest.fixture
def page(look: Callable[..., Page]) -> Page:
    """The page as a person finds it."""
    return look()
