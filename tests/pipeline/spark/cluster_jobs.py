"""Jobs on a cluster, as a user's program runs them: MASTER LOGS TARGET.

It prints `middle` when a job is in its middle and waits for a line on standard input before it goes
on to look; what each job found is a line of JSON.
"""

import json
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, Final

from pyspark import SparkStageInfo, StatusTracker
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from broker_lite.pipeline.spark.jobs.export import export, read_export
from broker_lite.pipeline.spark.session import session

CONF: Final = {
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",  # no job begins on one worker
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.showConsoleProgress": "false",
}
POLL_S: Final = 0.02
OPTIONS: Final = {"maxSplitBytes": "8k"}


def read(spark: SparkSession, logs: Path, target: Path) -> list[Any]:
    """Read the records."""
    return digest(spark.read.format("kafka_segments").options(**OPTIONS).load(str(logs)))


def export_(spark: SparkSession, logs: Path, target: Path) -> list[Any]:
    """Write the records as a table, and read that."""
    export(spark, str(logs), str(target), OPTIONS)
    return digest(read_export(spark, str(target)))


def digest(records: DataFrame) -> list[Any]:
    """Put the records of each partition into a few numbers."""
    found = records.groupBy("topic", "partition").agg(
        F.count("*"), F.sum("offset"), F.sum(F.crc32("value"))
    )
    return sorted(map(list, found.collect()))


JOBS: Final[Mapping[str, Callable[[SparkSession, Path, Path], Any]]] = {
    "read": read,
    "export": export_,
}


def unfinished_tasks(tracker: StatusTracker, job: Future[Any]) -> int:
    """Wait until a stage has finished a task, say so, and count what it has left after the kill."""
    while not job.done():
        wait([job], POLL_S)
        for stage in tracker.getActiveStageIds():
            if (begun := tracker.getStageInfo(stage)) is not None and is_in_the_middle(begun):
                print("middle", flush=True)
                sys.stdin.readline()
                now = tracker.getStageInfo(stage)
                return 0 if now is None else now.numTasks - now.numCompletedTasks
    return 0


def is_in_the_middle(stage: SparkStageInfo) -> bool:
    return 0 < stage.numCompletedTasks < stage.numTasks


def main(master: str, logs: str, target: str) -> None:
    spark = session("jobs", master, CONF, quick_start=True)
    with ThreadPoolExecutor(1) as pool:
        for name, run in JOBS.items():
            job = pool.submit(run, spark, Path(logs), Path(target, name))
            unfinished = unfinished_tasks(spark.sparkContext.statusTracker(), job)
            print(json.dumps({"job": name, "unfinished": unfinished, "result": job.result()}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
