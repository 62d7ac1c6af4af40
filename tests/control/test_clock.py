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


def test_g120_the_time_for_timers_follows_no_setting_of_the_clock() -> None:
    wall_ns, monotonic_ns = [1_000_000_000_000], [5_000_000_000]
    clock = Clock(wall_ns=lambda: wall_ns[0], monotonic_ns=lambda: monotonic_ns[0])
    assert clock.steady_ms() == clock.now_ms() == 1_000_000
    for shift_ns in (-500_000_000, 3_600_000_000_000):
        wall_ns[0] += shift_ns
        assert clock.steady_ms() == 1_000_000
    monotonic_ns[0] += 7_000_000
    clock.step(100)
    assert clock.steady_ms() == 1_000_107


def test_g120_how_long_it_takes_is_exact() -> None:
    monotonic_ns = [5_000_250_000]
    clock = Clock(wall_ns=lambda: 1_000_000_000_000, monotonic_ns=lambda: monotonic_ns[0])
    assert clock.seconds_until(1_000_006) == 0.006
    monotonic_ns[0] += 5_750_000
    assert (clock.steady_ms(), clock.seconds_until(1_000_006)) == (1_000_005, 0.00025)
    clock.step(1)
    assert (clock.steady_ms(), clock.seconds_until(1_000_006)) == (1_000_006, -0.00075)


def test_a_step_is_told_to_who_waits() -> None:
    clock = Clock.standing_still(5_000)
    told: list[int] = []
    clock.watch(lambda: told.append(clock.steady_ms()))
    clock.step(10)
    assert told == [5_010]
