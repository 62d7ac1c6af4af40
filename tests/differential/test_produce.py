"""The same produce requests to broker-lite and to a real Kafka: no unlisted difference."""

from pathlib import Path

import pytest

from tests.differential.compare_produce import run
from tests.support.toolchain import require

REQUESTS = 5000


@pytest.mark.kafka
@pytest.mark.slow
def test_answers_and_files_equal_those_of_kafka(tmp_path: Path) -> None:
    """V-01 to V-59, V-90, V-91, V-93."""
    require("java", "mvn")
    found = run(seed=20261121, requests=REQUESTS, folder=tmp_path)
    assert found.requests == REQUESTS
    assert found.unlisted == [], found.summary()
