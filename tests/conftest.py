"""What every test run says about itself."""

import logging
import signal
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from broker_lite.record import implementations
from tests.support.toolchain import MISSING


def pytest_configure() -> None:
    """Hear Ctrl-C, and have all processes that are started here hear it.

    What a shell runs in the background has that signal ignored, and would hand that on.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let worker processes share the tests by rooms, whatever --dist says."""
    from tests.support.rooms import RoomScheduling

    return RoomScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest rooms; the order is otherwise as it is."""
    from tests.support.rooms import begins_first

    items.sort(key=lambda item: not begins_first(item.nodeid))


def pytest_report_header() -> str:
    return f"in this process {implementations()}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    )
    for reason, count in sorted(reasons.items()):
        if reason.startswith(MISSING):
            terminalreporter.write_line(
                f"NOT TESTED, {count} test(s) skipped: {reason}", yellow=True, bold=True
            )


@pytest.fixture(autouse=True)
def _log_is_restored() -> Iterator[None]:
    """Send the broker's messages where they went before: a command that runs here may change it."""
    root = logging.getLogger("broker_lite")
    before = (list(root.handlers), root.level, root.propagate)
    yield
    root.handlers[:], _, root.propagate = before
    root.setLevel(before[1])
