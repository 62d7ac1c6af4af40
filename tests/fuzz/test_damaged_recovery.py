"""A short share of tests.fuzz.damaged_recovery, which starts 1,000 damaged directories."""

import logging
from pathlib import Path

import pytest

from tests.fuzz.damaged_recovery import logger, run

CASES = 150


@pytest.mark.slow
def test_what_a_start_makes_of_damage(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """S-40 to S-46, R-06, S-18, S-70, S-75."""
    caplog.set_level(logging.CRITICAL, logger.name)  # thousands of lines
    found = run(seed=20261123, cases=CASES, folder=tmp_path)
    assert found.faults == [], found.summary()
    assert found.outcomes["served"] > CASES
    assert found.outcomes["whole"] > 0
