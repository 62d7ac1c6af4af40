"""The statistic of tests.fuzz.login_timing, and a short share of it."""

import random
from pathlib import Path

import pytest

from tests.fuzz.login_timing import compare, run


def test_samples_of_one_kind_are_alike_and_others_are_not() -> None:
    dice = random.Random(1)
    one = [dice.gauss(500, 50) for _ in range(1000)]
    other = [dice.gauss(500, 50) for _ in range(1000)]
    assert not compare(one, other).tells
    assert compare(one, [value + 30 for value in other]).tells
    assert abs(compare(one, [value + 30 for value in other]).score) > 10


@pytest.mark.slow
def test_the_time_of_a_refusal_tells_nothing(tmp_path: Path) -> None:
    found = run(1, 100, tmp_path)
    assert found.faults == [], found.summary()
