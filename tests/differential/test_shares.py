"""The same random steps of share groups to broker-lite and to a real Kafka."""

from pathlib import Path

import pytest

from tests.differential.compare_shares import run
from tests.support.toolchain import require

SEEDS = range(20_261_128, 20_261_128 + 12)
WIDE_SEEDS = range(1, 13)
JOBS = 6
"""Most of the time is spent waiting."""


@pytest.mark.kafka
@pytest.mark.slow
def test_records_are_acquired_as_by_kafka(tmp_path: Path) -> None:
    """K-10 to K-41."""
    require("java", "mvn")
    different = run(SEEDS, tmp_path, jobs=JOBS)
    assert different == [], "\n".join(line for each in different for line in each)


@pytest.mark.kafka
@pytest.mark.slow
def test_transactions_lapsed_locks_and_moved_starts_are_as_in_kafka(tmp_path: Path) -> None:
    """K-15 to K-41."""
    require("java", "mvn")
    different = run(WIDE_SEEDS, tmp_path, is_wide=True, jobs=JOBS)
    assert different == [], "\n".join(line for each in different for line in each)
