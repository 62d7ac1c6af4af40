"""A short share of tests.fuzz.heavy_broker: V-45, R-84, P-16."""

from functools import cache
from pathlib import Path

import pytest

from tests.fuzz.heavy_batches import ATTACKS, Heavy
from tests.fuzz.heavy_broker import leave_during, run, stop_during

# 1 s on an idle machine, which the machine of a test run is not
STOP_S_MAX = 5.0


@pytest.mark.slow
def test_v45_others_are_served_during_heavy_batches(tmp_path: Path) -> None:
    assert run(tmp_path, 1, 0.2) == []


@cache
def attack(name: str, size: float) -> Heavy:
    """Make an attack once: two tests send the same one."""
    return ATTACKS[name](size)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size", "partitions"), [("slow codec", 3.0, 2), ("odd headers", 1.0, 16)]
)
def test_p16_a_stop_ends_work_in_threads(
    name: str, size: float, partitions: int, tmp_path: Path
) -> None:
    """Each takes more than ten seconds when nobody stops it."""
    heavy = attack(name, size)._replace(partitions=partitions)
    stop_s, is_early = stop_during(tmp_path / "data", heavy)
    assert is_early
    assert stop_s < STOP_S_MAX


@pytest.mark.slow
def test_p16_work_ends_when_its_client_has_gone(tmp_path: Path) -> None:
    """It would take more than 7 s of processor time; a second after the client it is stopped."""
    cpu_s, appended = leave_during(tmp_path / "data", attack("slow codec", 3.0))
    assert cpu_s < STOP_S_MAX
    assert appended == 0
