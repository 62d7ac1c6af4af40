import time

import pytest

from broker_lite.control.clock import Clock


def test_a_clock_reads_the_machine() -> None:
    clock = Clock()
    before, monotonic_before = time.time_ns(), time.monotonic_ns()
    assert before // 1_000_000 <= clock.now_ms() <= time.time_ns() // 1_000_000
    assert monotonic_before // 1_000_000 <= clock.monotonic_ms()


def test_both_readings_are_stepped() -> None:
    clock = Clock.standing_still(5_000)
    assert (clock.now_ms(), clock.monotonic_ms()) == (5_000, 0)
    clock.step(10)
    clock.step(20)
    assert (clock.now_ms(), clock.monotonic_ms()) == (5_030, 30)


def test_a_clock_is_never_stepped_back() -> None:
    with pytest.raises(ValueError, match="stepped back"):
        Clock.standing_still().step(-1)
