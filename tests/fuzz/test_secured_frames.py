"""A short share of tests.fuzz.secured_frames, which sends 100,000 frames."""

from pathlib import Path

import pytest

from tests.fuzz.secured_frames import run


@pytest.mark.slow
def test_bytes_before_authentication_hurt_nobody(tmp_path: Path) -> None:
    found = run(20261126, 1500, tmp_path)
    assert found.faults == [], found.summary()
    assert found.checks > 0
