"""Waiting for lines of a container's log, as test libraries do."""

import re

from tests.support.docker import Container

TIMEOUT_S = 30


def wait_for_line(container: Container, pattern: str = "Kafka Server started") -> None:
    """Wait for the one line that has the pattern."""
    if not any(re.search(pattern, line) for line in container.follow()):
        raise AssertionError(f"no such line: {pattern}")
    assert len(re.findall(pattern, container.log)) == 1
