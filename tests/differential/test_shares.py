"""The same random steps of share groups to broker-lite and to a real Kafka."""

from functools import partial
from pathlib import Path

import pytest

from tests.differential.compare_shares import run
from tests.differential.until_equal import until_equal
from tests.support.toolchain import require

SEEDS = range(20_261_128, 20_261_128 + 12)
WIDE_SEEDS = [*range(1, 13), 2116, 330_042, 330_047]
"""The last ones meet the known differences."""
JOBS = 6
"""Most of the time is spent waiting."""


@pytest.mark.kafka
@pytest.mark.slow
def test_records_are_acquired_as_by_kafka(tmp_path: Path) -> None:
    """K-10 to K-41."""
    require("java", "mvn")
    different = until_equal(partial(run, jobs=JOBS), SEEDS, tmp_path)
    assert different == [], "\n".join(different)


@pytest.mark.kafka
@pytest.mark.slow
def test_transactions_lapsed_locks_and_moved_starts_are_as_in_kafka(tmp_path: Path) -> None:
    """K-15 to K-41."""
    require("java", "mvn")
    different = until_equal(partial(run, is_wide=True, jobs=JOBS), WIDE_SEEDS, tmp_path)
    assert different == [], "\n".join(different)
