"""Functions that run on the workers."""

from functools import partial
from operator import add

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from broker_lite.pipeline.spark.tasks import on_workers


def test_results_come_in_order_one_task_each(spark: SparkSession) -> None:
    found = on_workers(spark, partial(add, 10), [3, 1, 2])
    assert found.getNumPartitions() == 3
    assert found.collect() == [13, 11, 12]


def test_no_work(spark: SparkSession) -> None:
    assert on_workers(spark, abs, []).collect() == []
    assert on_workers(spark, abs, []).fold(0, add) == 0


def test_an_error_has_no_traceback_of_the_worker(spark: SparkSession) -> None:
    with pytest.raises((Py4JJavaError, PySparkException)) as raised:
        on_workers(spark, int, ["1", "no number"]).collect()
    assert "ValueError: invalid literal" in str(raised.value)
    assert "Traceback" not in str(raised.value)
