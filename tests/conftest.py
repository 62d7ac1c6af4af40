"""What every test run says about itself."""

from collections import Counter

import pytest

from broker_lite.record import scan_implementation
from tests.support.toolchain import MISSING


def pytest_report_header() -> str:
    return f"scan: {scan_implementation()}"


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
