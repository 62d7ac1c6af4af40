"""What old clients send and are answered, by broker-lite and by the last Kafka that served them."""

from pathlib import Path

import pytest

from tests.differential.compare_old import run
from tests.support.toolchain import require

REQUESTS = 100


@pytest.mark.kafka
@pytest.mark.slow
def test_answers_and_files_equal_those_of_kafka_3_9(tmp_path: Path) -> None:
    """V-92, R-92, F-60 to F-62."""
    require("java", "mvn")
    found = run(seed=20261122, requests=REQUESTS, folder=tmp_path)
    assert found.requests == REQUESTS
    assert found.faults == [], found.summary()
