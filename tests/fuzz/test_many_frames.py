"""A short share of tests.fuzz.many_frames, on the build that is installed."""

from pathlib import Path

import pytest

from tests.fuzz.many_frames import run


@pytest.mark.slow
def test_many_frames_leave_a_broker_as_it_was(tmp_path: Path) -> None:
    found = run(tmp_path, 1, 6000, watches=True)
    assert found.faults == [], found.summary()
    assert found.frames.total() == 6000
