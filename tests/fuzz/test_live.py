"""A short share of tests.fuzz.live, which sends 100,000 frames."""

from pathlib import Path

import pytest

from tests.fuzz.live import run

FRAMES = 10_000


@pytest.mark.slow
def test_live_broker_withstands_damaged_frames(tmp_path: Path) -> None:
    """P-02, P-03, P-08, P-10: an answer or a closed connection, and nobody else notices."""
    found = run(seed=20261121, frames=FRAMES, folder=tmp_path)
    assert found.faults == [], found.summary()
