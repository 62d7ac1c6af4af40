"""A short share of tests/pipeline/spark/exactness.py."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.pipeline.spark.exactness import run
from tests.pipeline.spark.readers import BROKERS
from tests.support.toolchain import require

pytestmark = [pytest.mark.kafka, pytest.mark.client, pytest.mark.slow]

QUERIES = 4


@pytest.mark.parametrize("broker", BROKERS)
def test_random_topics_are_read_alike(connector: SparkSession, tmp_path: Path, broker: str) -> None:
    require("java", "mvn")
    found = run(connector, broker, tmp_path, seed=3, topics=4, queries=QUERIES)
    assert found.faults == []
    assert found.queries == QUERIES + 2
    assert found.rows > 0
