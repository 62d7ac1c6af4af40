"""The bar of commands that take long."""

import io

import pytest

from broker_lite.commands.shared.progress import ProgressBar
from broker_lite.control.clock import Clock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_it_says_how_far_how_fast_and_how_long() -> None:
    clock, terminal = Clock.standing_still(), Terminal()
    with ProgressBar("verify", 4_000_000_000, stream=terminal, clock=clock) as bar:
        bar.tell(1)
        assert terminal.getvalue() == ""  # what is over in a moment is never shown
        clock.step(1000)
        bar.add(999_999_999, "orders-0")
        line = "verify [######..................] 25 %  1.0 GB/s  0:03 left  orders-0"
        assert terminal.getvalue() == f"\r\x1b[K{line}\r"
        bar.add(1)
        assert terminal.getvalue().count("verify") == 1  # not more often than eyes see
    assert terminal.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize("total_bytes", [0, 10])
def test_more_than_there_was_to_do_is_all_of_it(total_bytes: int) -> None:
    clock, terminal = Clock.standing_still(), Terminal()
    with ProgressBar("dump", total_bytes, stream=terminal, clock=clock) as bar:
        clock.step(500)
        bar.tell(20)
    assert "100 %" in terminal.getvalue()


def test_where_no_terminal_is_there_is_none() -> None:
    clock, file = Clock.standing_still(), io.StringIO()
    with ProgressBar("dump", 10, stream=file, clock=clock) as bar:
        clock.step(500)
        bar.tell(5)
    assert file.getvalue() == ""
