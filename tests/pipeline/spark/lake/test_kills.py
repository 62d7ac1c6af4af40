"""A short share of tests/pipeline/spark/lake/kills.py."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.pipeline.spark.lake.kills import run

pytestmark = pytest.mark.slow

KILLS = 2


@pytest.mark.parametrize(("table_format", "seed"), [("delta", 2), ("iceberg", 2)])
def test_every_record_once(
    spark: SparkSession, tmp_path: Path, table_format: str, seed: int
) -> None:
    lake = run(tmp_path, table_format, seed, KILLS)
    assert len(lake.moments) == KILLS
    assert lake.check(spark) > 0
