"""A short share of tests.fuzz.kill, which kills the broker 20 times."""

from pathlib import Path

import pytest

from tests.fuzz.kill import run

KILLS = 3


@pytest.mark.slow
def test_s_44_s_45_v_54_a_killed_broker_loses_nothing_acknowledged(tmp_path: Path) -> None:
    found = run(seed=20261121, kills=KILLS, folder=tmp_path)
    assert found.faults == [], found.summary()
    assert found.acknowledged > 0
