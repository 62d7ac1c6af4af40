"""A short share of tests.fuzz.extremes: the last version of some APIs, and smaller frames."""

from pathlib import Path

import pytest

from tests.fuzz.extreme_outcomes import Findings, Outcome, least
from tests.fuzz.extremes import run

APIS = (1, 3, 8, 13, 24)
BYTES = 400_000


@pytest.mark.slow
@pytest.mark.parametrize("api", APIS)
def test_p34_nobody_waits_for_an_extreme_request(api: int, tmp_path: Path) -> None:
    """The bound is of the broker's processor time: others of a busy machine wait for longer."""
    found = run(1, BYTES, tmp_path, api=api, latest=True)
    assert found.faults == [], found.summary()
    assert found.outcomes


def outcome(version: int, stall_ms: float, end: str = "answered") -> Outcome:
    return Outcome("Fetch", version, "many", end, 1.0, stall_ms, 80.0, 0.5, 10.0, 1.0)


def test_a_stall_counts_if_it_comes_each_time() -> None:
    tries = [
        [outcome(17, 60.0), outcome(17, 70.0), outcome(17, 9.0, "silent")],
        [outcome(17, 12.0), outcome(17, 65.0), outcome(17, 8.0)],
    ]
    found = Findings()
    for each in least(tries):
        found.add(each)
    assert [each.stall_ms for each in found.outcomes] == [12.0, 65.0, 9.0]
    assert len(found.faults) == 2


def test_the_worst_of_each_version_is_shown() -> None:
    found = Findings()
    for each in (outcome(17, 12.0), outcome(18, 3.0), outcome(18, 60.0)):
        found.add(each)
    assert [row.stall_ms for row in found.worst()] == [12.0, 60.0]
    assert len(found.faults) == 1
    assert "3 requests, the longest stall 60 ms, 1 faults" in found.summary()
