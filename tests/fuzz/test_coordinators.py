"""A short share of tests.fuzz.coordinators, which sends 100,000 frames."""

from pathlib import Path

import pytest

from tests.fuzz.coordinators import run

FRAMES = 5_000


@pytest.mark.slow
def test_coordinators_withstand_wrong_requests(tmp_path: Path) -> None:
    """G-57, G-118, G-119, T-60: nobody else notices, nothing hangs, a restart changes nothing."""
    found = run(seed=20261121, frames=FRAMES, folder=tmp_path)
    assert found.faults == [], found.summary()
