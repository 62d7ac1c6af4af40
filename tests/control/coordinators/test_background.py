"""Jobs run in slices, in their order."""

from collections.abc import Iterator

import pytest

from broker_lite.control.coordinators.alarm import Alarm
from broker_lite.control.coordinators.background import SLICE_S, Background


class Bench:
    """A background with a clock of its own, which each step of a job moves by half a slice."""

    def __init__(self) -> None:
        self.alarm, self.now_s, self.done = Alarm(), 0.0, ""
        self.alarm.sleep_until(None)
        self.woken = 0
        self.alarm.wake = self.wake
        self.background = Background(self.alarm, lambda: self.now_s)

    def wake(self) -> None:
        self.woken += 1

    def job(self, name: str, steps: int) -> Iterator[None]:
        for _ in range(steps):
            self.done += name
            self.now_s += SLICE_S * 0.6
            yield


def test_jobs_run_in_slices() -> None:
    bench = Bench()
    background = bench.background
    assert background.next_deadline_ms() is None
    background.on_time()
    background.add(bench.job("a", 3))
    background.add(bench.job("b", 1))
    assert bench.woken == 1
    assert background.next_deadline_ms() == 0
    background.on_time()
    assert bench.done == "aa"
    background.on_time()
    assert bench.done == "aaab"
    background.on_time()
    assert background.next_deadline_ms() is None


def test_a_job_that_fails_ends_and_the_others_go_on() -> None:
    bench = Bench()

    def fails() -> Iterator[None]:
        yield
        raise ValueError("broken")

    bench.background.add(fails())
    bench.background.add(bench.job("a", 1))
    with pytest.raises(ValueError, match="broken"):
        bench.background.on_time()
    bench.background.on_time()
    assert bench.done == "a"
    assert bench.background.next_deadline_ms() is None
