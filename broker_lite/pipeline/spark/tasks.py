"""Runs functions of the pipeline on the workers of a session, one task for each piece of work.

This is for results that are small Python values. Spark's SQL would plan each query, make Java code
of it and turn each value into a row and back, which takes seconds in a new session.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from pyspark import RDD
from pyspark.sql import SparkSession

from broker_lite.pipeline.spark.worker import settle_worker

Work = TypeVar("Work")
Result = TypeVar("Result")


def on_workers(
    spark: SparkSession, function: Callable[[Work], Result], work: Sequence[Work]
) -> RDD[Result]:
    """Return the results of a function, in the order of the work; nothing runs yet.

    Args:
        spark: a session.
        function: of a module, or a partial() of one; it runs on the workers.
        work: arguments that can be pickled, each of which becomes a task.
    """
    pieces = spark.sparkContext.parallelize(work, max(len(work), 1))
    return pieces.mapPartitions(partial(_run, function))


def _run(function: Callable[[Work], Result], work: Iterable[Work]) -> Iterator[Result]:
    settle_worker()
    return map(function, work)
