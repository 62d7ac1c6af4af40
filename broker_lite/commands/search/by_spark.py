"""`broker-lite spark search`: the search of `log search` by the tasks of a cluster.

For logs in an object store or on a mount that all machines have. On one machine, `log search` does
the same without Spark's start.
"""

import argparse
from collections.abc import Generator
from functools import partial
from typing import Final

from broker_lite.commands.search.command import add_search, search
from broker_lite.commands.search.task import Found, SearchTask
from broker_lite.commands.shared.reading_errors import reading_told
from broker_lite.commands.shared.spark_options import Session
from broker_lite.errors import ClientError, KafkaStorageError, SettingsError
from broker_lite.pipeline.read.split import Split

# So many splits for each core at a time: their results wait in memory for those in front of them.
_SPLITS_PER_CORE: Final = 8

add_arguments = add_search


def run(spark: Session, options: argparse.Namespace) -> int:
    """Search, and print what is found."""
    return search(options, partial(_found_in_order, spark))


def _found_in_order(
    spark: Session, task: SearchTask, splits: list[Split]
) -> Generator[Found, None, None]:
    context = spark.sparkContext
    wave = context.defaultParallelism * _SPLITS_PER_CORE
    for start in range(0, len(splits), wave):
        some = splits[start : start + wave]
        tasks = context.parallelize(some, len(some)).map(partial(_search, task))
        for found, error in tasks.collect():
            yield from found
            if error is not None:
                raise error


def _search(task: SearchTask, split: Split) -> tuple[list[Found], Exception | None]:
    """Search a split; an error comes behind what was found, so that Spark does not try again."""
    found: list[Found] = []
    try:
        with reading_told():
            found.extend(task.search(split))
    except (ClientError, KafkaStorageError, SettingsError, OSError) as error:
        return found, error
    return found, None
