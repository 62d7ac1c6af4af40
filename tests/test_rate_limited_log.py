"""Which lines are written, and what is told of those that are not."""

import logging
from collections.abc import Iterator

import pytest

from broker_lite.control.clock import Clock
from broker_lite.rate_limited_log import (
    ALL_LINES_MAX,
    COUNT_LINES_MAX,
    INTERVAL_MS,
    KINDS_MAX,
    LINES_MAX,
    Key,
    RateLimitedLog,
)

logger = logging.getLogger("tests.rate_limited_log")


class Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@pytest.fixture
def lines() -> Iterator[list[str]]:
    handler = Lines()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    yield handler.texts
    logger.removeHandler(handler)


class Limited:
    def __init__(self) -> None:
        self.clock = Clock.standing_still()
        self.log = RateLimitedLog(self.clock.monotonic_ms)

    def write(self, count: int, *key: str | int) -> None:
        for number in range(count):
            self.log.write(logger, logging.INFO, key or ("kind",), "line %d", number)


@pytest.fixture
def limited() -> Limited:
    return Limited()


def test_first_lines_are_written(limited: Limited, lines: list[str]) -> None:
    limited.write(LINES_MAX)
    assert lines == [f"line {number}" for number in range(LINES_MAX)]
    limited.log.write_counts(now=True)
    assert len(lines) == LINES_MAX, "nothing was left out"


def test_count_at_the_end_of_the_interval(limited: Limited, lines: list[str]) -> None:
    limited.write(LINES_MAX + 1234, "closing", "10.0.0.1")
    limited.clock.step(INTERVAL_MS - 1)
    limited.log.write_counts()
    assert len(lines) == LINES_MAX
    limited.clock.step(1)
    limited.log.write_counts()
    assert lines[LINES_MAX:] == ["more such lines were left out count=1234 like=closing 10.0.0.1"]
    limited.log.write_counts()
    assert len(lines) == LINES_MAX + 1, "told once"


def test_count_with_the_next_line(limited: Limited, lines: list[str]) -> None:
    limited.write(LINES_MAX + 2)
    limited.clock.step(INTERVAL_MS)
    limited.write(1)
    assert lines[LINES_MAX:] == ["more such lines were left out count=2 like=kind", "line 0"]


def test_interval_begins_with_its_first_line(limited: Limited, lines: list[str]) -> None:
    limited.write(1)
    limited.clock.step(INTERVAL_MS * 3 + INTERVAL_MS // 2)
    limited.write(LINES_MAX)
    limited.clock.step(INTERVAL_MS - 1)
    limited.write(1)
    assert len(lines) == 1 + LINES_MAX


def test_count_at_the_stop(limited: Limited, lines: list[str]) -> None:
    limited.write(LINES_MAX + 1)
    limited.log.write_counts(now=True)
    assert lines[-1] == "more such lines were left out count=1 like=kind"


def test_kinds_are_counted_apart(limited: Limited, lines: list[str]) -> None:
    limited.write(LINES_MAX + 1, "a")
    limited.write(1, "b")
    assert len(lines) == LINES_MAX + 1


def test_lines_of_all_kinds_are_bounded(limited: Limited, lines: list[str]) -> None:
    for number in range(10 * KINDS_MAX):
        limited.write(1, number)
    assert len(lines) == ALL_LINES_MAX
    limited.log.write_counts(now=True)
    assert len(lines) == ALL_LINES_MAX + COUNT_LINES_MAX + 1
    told = sum(int(line.partition("count=")[2].split()[0]) for line in lines[ALL_LINES_MAX:])
    assert told == 10 * KINDS_MAX - ALL_LINES_MAX
    assert lines[ALL_LINES_MAX].endswith("like=others")
    kinds = KINDS_MAX + 1 - ALL_LINES_MAX  # with that of all the others
    assert lines[-1].endswith(f"kinds={kinds - COUNT_LINES_MAX}")


def test_line_below_the_level_is_not_counted(limited: Limited, lines: list[str]) -> None:
    key: Key = ("debug",)
    for _ in range(LINES_MAX + 1):
        limited.log.write(logger, logging.DEBUG, key, "not wanted")
    limited.log.write_counts(now=True)
    assert lines == []
