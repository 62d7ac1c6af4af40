"""A short share of tests.fuzz.half_hand_shakes."""

from pathlib import Path

import pytest

from tests.fuzz.half_hand_shakes import run


@pytest.mark.slow
def test_half_hand_shakes_take_little(tmp_path: Path) -> None:
    found = run(tmp_path, 200)
    assert found.faults == [], found.summary()
