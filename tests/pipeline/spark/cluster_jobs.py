"""Jobs on a cluster, as a user's program runs them: MASTER LOGS TARGET OPTIONS.

The options are for the Java of executors.

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
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from broker_lite.pipeline.spark.jobs.export import export, read_export
from broker_lite.pipeline.spark.jobs.generate import generate
from broker_lite.pipeline.spark.jobs.verify import verify
from broker_lite.pipeline.spark.session import session

CONF: Final = {
    "spark.executor.memory": "512m",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",  # no job begins on one worker
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.showConsoleProgress": "false",
}
POLL_S: Final = 0.02
SPLIT_BYTES: Final = "8k"
# A task makes 64 MB before compression, so large values are what makes several tasks quickly.
SPEC: Final = {
    "seed": 7,
    "topics": [
        {
            "name": "made",
            "partitions": 2,
            "bytes": 256 << 20,
            "value_bytes": 512 << 10,
            "payload": "zeros",
            "codecs": ["lz4"],
            "producers": 2,
            "batch_bytes": 1 << 20,
            "segment_bytes": 32 << 20,
        }
    ],
}


def verify_(spark: SparkSession, logs: Path, target: Path) -> dict[str, Any]:
    """Look at everything there is."""
    return verify(spark, str(logs), {"maxSplitBytes": SPLIT_BYTES}).as_json()


def export_(spark: SparkSession, logs: Path, target: Path) -> list[Any]:
    """Write the records as a table, and read that."""
    export(spark, str(logs), str(target), {"maxSplitBytes": SPLIT_BYTES})
    records = read_export(spark, str(target))
    totals = (F.count("*"), F.sum("offset"), F.sum(F.crc32("value")))
    return sorted(map(list, records.groupBy("topic", "partition").agg(*totals).collect()))


def generate_(spark: SparkSession, logs: Path, target: Path) -> int:
    """Make logs, and count their partitions; the test compares the files."""
    return len(generate(spark, SPEC, str(target)))


JOBS: Final[Mapping[str, Callable[[SparkSession, Path, Path], Any]]] = {
    "verify": verify_,
    "export": export_,
    "generate": generate_,
}


def unfinished_tasks(tracker: StatusTracker, job: Future[Any]) -> int:
    """Wait for the middle of a stage, say so, and count the tasks that it has left afterwards."""
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
    """Whether both workers have work and, where a stage has many tasks, some results."""
    return stage.numActiveTasks > 1 and stage.numCompletedTasks >= stage.numTasks // 8


def main(master: str, logs: str, target: str, java_options: str) -> None:
    options = f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 {java_options}"
    conf = {**CONF, "spark.executor.extraJavaOptions": options}
    spark = session("jobs", master, conf, quick_start=True)
    with ThreadPoolExecutor(1) as pool:
        for name, run in JOBS.items():
            job = pool.submit(run, spark, Path(logs), Path(target, name))
            unfinished = unfinished_tasks(spark.sparkContext.statusTracker(), job)
            print(json.dumps({"job": name, "unfinished": unfinished, "result": job.result()}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
