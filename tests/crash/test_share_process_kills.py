"""A short share of tests.crash.share_process_kills, which kills processes for much longer."""

from pathlib import Path

import pytest

from tests.crash.share_process_kills import run

KILLS = 4


@pytest.mark.slow
def test_k20_k28_share_consumers_of_killed_processes_are_kept_their_promises(
    tmp_path: Path,
) -> None:
    found = run(seed=20261128, kills=KILLS, folder=tmp_path)
    assert found.faults == [], found.summary()
    assert found.kills >= KILLS
    assert found.records > 0
    assert found.done > 0
