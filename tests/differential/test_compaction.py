"""The same logs compacted by a real Kafka and here: no unlisted difference."""

from pathlib import Path

import pytest

from tests.differential.compare_compaction import run
from tests.support.toolchain import require

LOGS = 8


@pytest.mark.kafka
@pytest.mark.slow
def test_what_is_left_of_logs_equals_what_kafka_leaves(tmp_path: Path) -> None:
    """S-80 to S-88, R-16, R-90, R-91."""
    require("java", "mvn")
    found = run(seed=20261121, logs=LOGS, folder=tmp_path)
    assert found.logs == LOGS
    assert found.batches > LOGS
    assert found.unlisted == [], found.summary()
