"""The same random steps of streams groups to broker-lite and to a real Kafka."""

from functools import partial
from pathlib import Path

import pytest

from tests.differential.compare_streams import run
from tests.differential.until_equal import until_equal
from tests.support.toolchain import require

SEEDS = [*range(20_261_128, 20_261_128 + 12), 310_385]
"""The last one has Kafka drop a group without tombstones."""
JOBS = 6
"""Most of the time is spent waiting."""


@pytest.mark.kafka
@pytest.mark.slow
def test_tasks_are_assigned_as_by_kafka(tmp_path: Path) -> None:
    """U-03 to U-23."""
    require("java", "mvn")
    different = until_equal(partial(run, jobs=JOBS), SEEDS, tmp_path)
    assert different == [], "\n".join(different)
