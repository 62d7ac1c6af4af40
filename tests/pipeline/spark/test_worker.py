"""What a worker does before its first task."""

import gc
import subprocess
import sys

from pyspark.sql import SparkSession

_SETTLE_TWICE = """
import gc
from broker_lite.pipeline.spark.worker import settle_worker
settle_worker()
frozen = gc.get_freeze_count()
gc.collect()
later = [object()]
settle_worker()
print(frozen > 1000 and gc.get_freeze_count() == frozen)
"""


def test_what_is_imported_is_collected_no_more() -> None:
    """In a process of its own; it is done once, and what tasks make stays to be collected."""
    told = subprocess.run(
        [sys.executable, "-c", _SETTLE_TWICE], capture_output=True, text=True, check=True
    )
    assert told.stdout == "True\n"


def test_the_driver_is_left_alone(spark: SparkSession) -> None:
    """It is a user's program."""
    assert spark.version
    assert gc.get_freeze_count() == 0
