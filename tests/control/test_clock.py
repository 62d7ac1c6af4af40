import math
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


class Machine:
    """The times of a machine."""

    def __init__(self) -> None:
        self.wall_ns = 1_000_000_000_000
        self.monotonic_ns = 5_000_000_000

    def passes(self, ms: int) -> None:
        self.wall_ns += ms * 1_000_000
        self.monotonic_ns += ms * 1_000_000

    def clock(self) -> Clock:
        return Clock(wall_ns=lambda: self.wall_ns, monotonic_ns=lambda: self.monotonic_ns)


def readings(clock: Clock) -> tuple[int, int, int]:
    return clock.now_ms(), clock.monotonic_ms(), clock.steady_ms()


def test_only_steps_move_a_frozen_clock() -> None:
    machine = Machine()
    clock = machine.clock()
    clock.freeze()
    machine.passes(100)
    clock.freeze()
    assert clock.is_frozen
    assert readings(clock) == (1_000_000, 5_000, 1_000_000)
    clock.step(7)
    assert readings(clock) == (1_000_007, 5_007, 1_000_007)
    assert clock.unfrozen_ms() == 5_107


def test_it_goes_on_from_where_it_stands() -> None:
    machine = Machine()
    clock = machine.clock()
    told: list[int] = []
    clock.watch(lambda: told.append(clock.steady_ms()))
    for _ in range(2):
        clock.freeze()
        machine.passes(100)
        clock.unfreeze()
    clock.unfreeze()
    assert told == [1_000_000] * 2
    assert not clock.is_frozen
    machine.passes(3)
    assert readings(clock) == (1_000_003, 5_003, 1_000_003)
    assert clock.seconds_until(1_000_005) == 0.002


def test_nothing_is_waited_for_while_it_is_frozen() -> None:
    clock = Machine().clock()
    clock.freeze()
    assert clock.seconds_until(1_000_001) == math.inf
    assert clock.seconds_until(1_000_000) == 0
    clock.step(2)
    assert clock.seconds_until(1_000_001) == -0.001
