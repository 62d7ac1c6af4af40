"""How fast a cleaning goes."""

from threading import Thread

import pytest

from broker_lite.log.cleaner.pace import CleaningStopped, Pace


def test_without_a_limit_nothing_waits() -> None:
    pace = Pace(float("inf"), lambda: 0)
    for _ in range(100):
        pace.spend(1 << 30)


def test_a_limit_holds_the_thread_back() -> None:
    """The clock goes on by a second at each reading, in which 100 bytes are due."""
    seconds = iter(range(100))
    pace = Pace(100, lambda: next(seconds) * 1000)
    for _ in range(5):
        pace.spend(100)
    assert next(seconds) == 6


def test_whoever_is_held_back_can_be_stopped() -> None:
    pace = Pace(1, lambda: 0)
    stopped = []

    def spend() -> None:
        try:
            pace.spend(1 << 40)
        except CleaningStopped:
            stopped.append(True)

    thread = Thread(target=spend)
    thread.start()
    pace.stop()
    thread.join(10)
    assert stopped == [True]
    with pytest.raises(CleaningStopped):
        Pace.spend(pace, 0)
