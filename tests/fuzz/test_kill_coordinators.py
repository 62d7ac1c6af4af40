"""A short share of tests.fuzz.kill_coordinators, which kills the broker 20 times."""

from pathlib import Path

import pytest

from tests.fuzz.kill_coordinators import run

KILLS = 4


@pytest.mark.slow
def test_g_60_t_53_t_60_a_killed_broker_keeps_commits_and_ends_transactions(tmp_path: Path) -> None:
    found = run(seed=20261121, kills=KILLS, folder=tmp_path)
    assert found.faults == [], found.summary()
    assert min(found.commits, found.changes, found.committed, found.aborted) > 0
