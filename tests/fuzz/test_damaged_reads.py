"""A short share of tests.fuzz.damaged_reads, which reads 20,000 damaged logs."""

from pathlib import Path

import pytest

from tests.fuzz.damaged_reads import logger, run

CASES = 400


@pytest.mark.slow
def test_what_is_lost_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-02, R-04, R-06, R-18, S-05, S-10, S-18, S-70."""
    monkeypatch.setattr(logger, "propagate", False)  # thousands of lines
    found = run(seed=20261123, cases=CASES, folder=tmp_path)
    assert found.faults == [], found.summary()
    assert found.outcomes["all records"] > CASES // 10
    assert found.outcomes["error"] > CASES // 2
