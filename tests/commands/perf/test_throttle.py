"""A loop that keeps to a rate."""

from itertools import chain, repeat

import pytest

from broker_lite.commands.perf.throttle import Throttle


@pytest.mark.parametrize(
    ("per_second", "step", "after_s", "wait_s"),
    [(-1, 10, 0, 0), (4, 0, 0, 0), (4, 2, 0, 0.5), (4, 2, 0.25, 0.25), (4, 2, 7, 0)],
)
def test_a_step_is_due(per_second: float, step: int, after_s: float, wait_s: float) -> None:
    times = chain([100.0], repeat(100.0 + after_s))
    throttle = Throttle(per_second, now_s=lambda: next(times))
    assert throttle.wait_s(step) == pytest.approx(wait_s)
