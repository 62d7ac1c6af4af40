"""The same group and transaction sequences to broker-lite and to a real Kafka."""

from pathlib import Path

import pytest

from tests.differential.compare_coordinators import run
from tests.support.toolchain import require

SEEDS = range(20_261_121, 20_261_121 + 150)


@pytest.mark.kafka
@pytest.mark.slow
def test_answers_equal_those_of_kafka(tmp_path: Path) -> None:
    """G-20 to G-111, T-12 to T-63."""
    require("java", "mvn")
    found = run(SEEDS, tmp_path)
    assert found.count == len(SEEDS)
    assert found.unlisted == [], "\n".join([*found.unlisted, found.summary()])
