"""A short share of tests.crash.process_kills, which kills processes for much longer."""

from pathlib import Path

import pytest

from tests.crash.process_kills import run

KILLS = 4


@pytest.mark.slow
def test_killed_processes_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    found = run(seed=20261127, kills=KILLS, folder=tmp_path)
    assert found.faults == [], found.summary()
    assert found.kills >= KILLS
    assert found.records > 0
    assert found.transactions > 0
