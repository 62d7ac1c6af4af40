"""Waiting for lines of a container's log, as test libraries do."""

import re
import time

from tests.support.docker import POLL_S, Container

TIMEOUT_S = 30


def wait_for_line(container: Container, pattern: str = "Kafka Server started") -> None:
    """Wait for the one line that has the pattern."""
    deadline = time.monotonic() + TIMEOUT_S
    while not re.search(pattern, log := container.log):
        assert time.monotonic() < deadline, f"no such line: {pattern}"
        assert container.state["Running"], "it ended"
        time.sleep(POLL_S)
    assert len(re.findall(pattern, log)) == 1
