"""The same scripts to three real Kafka brokers and to three of broker-lite."""

from pathlib import Path

import pytest

from tests.differential.cluster_returns import RETURNS
from tests.differential.compare_cluster import run
from tests.support.toolchain import require

SEEDS = range(20_261_124, 20_261_124 + 12)


@pytest.mark.kafka
@pytest.mark.slow
def test_answers_equal_those_of_kafka(tmp_path: Path) -> None:
    """C-01 to C-66."""
    require("java", "mvn")
    found = run(SEEDS, tmp_path, written=RETURNS)
    assert found.count == len(RETURNS) + len(SEEDS)
    assert found.unlisted == [], "\n".join([*found.unlisted, found.summary()])
