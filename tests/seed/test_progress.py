import io
import logging
from collections.abc import Callable

import pytest

from broker_lite.control.clock import Clock
from broker_lite.seed.lines import Lines
from broker_lite.seed.progress import Progress

WriteFile = Callable[[str, str | bytes], str]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock() -> Clock:
    return Clock.standing_still()


@pytest.fixture
def lines(write_file: WriteFile) -> Lines:
    """Read to the middle."""
    half_read = Lines(write_file("seed", "a\nb\n"))
    next(iter(half_read))
    return half_read


def test_a_terminal_gets_a_line_that_changes_and_goes(clock: Clock, lines: Lines) -> None:
    terminal = Terminal()
    progress = Progress(lines, clock, terminal)
    clock.step(999)
    progress.tell(900)
    assert terminal.getvalue() == ""
    for records in (2000, 2500, 3000):
        clock.step(101)
        progress.tell(records)
    line = f"\r\x1b[K{lines.path}: 50 %, "
    first = line + "2,000 records, 1,818 records/s"
    last = line + "3,000 records, 2,304 records/s"
    assert terminal.getvalue() == first + last
    progress.end()
    progress.end()
    assert terminal.getvalue() == first + last + "\r\x1b[K"
    assert progress.elapsed_ms == 1302


def test_a_log_gets_a_line_every_few_seconds(
    clock: Clock, lines: Lines, caplog: pytest.LogCaptureFixture
) -> None:
    stream = io.StringIO()
    progress = Progress(lines, clock, stream)
    with caplog.at_level(logging.INFO, "broker_lite.seed"):
        for _ in range(13):
            clock.step(500)
            progress.tell(1000)
    progress.end()
    assert stream.getvalue() == ""
    assert [one.getMessage() for one in caplog.records] == [
        "seeding percent=50 records=1000 records_per_s=1000",
        "seeding percent=50 records=1000 records_per_s=166",
    ]


def test_a_small_seed_says_nothing(
    clock: Clock, lines: Lines, capsys: pytest.CaptureFixture[str]
) -> None:
    progress = Progress(lines, clock)
    progress.tell(1)
    progress.end()
    assert capsys.readouterr() == ("", "")
