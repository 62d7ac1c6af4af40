"""`broker-lite spark prepare`: make the archive of Java classes, so that jobs start faster.

The session uses what most jobs use, because an archive has the classes that were loaded: the source
and the sink of segments, a shuffle, and Parquet.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from broker_lite.commands.shared.spark_options import Session
from broker_lite.pipeline.report.text import size_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no flags: it has those of all jobs."""


def run(options: argparse.Namespace, name: str, conf: Mapping[str, str]) -> int:
    """Make the archive, unless it is there; other jobs run in a session, this one ends its own.

    Args:
        options: with the master.
        name: of the application.
        conf: settings of Spark.

    Raises:
        ArchiveError: it could not be made; nothing is left of it.
        NoJava: the machine has no Java that Spark runs on.
        Stopped: a signal arrived; nothing is left of it.
    """
    from broker_lite.pipeline.spark.class_archive import (
        ArchiveError,
        class_archive,
        end_java_and_publish,
        nothing_left_of,
    )
    from broker_lite.pipeline.spark.java import find_java
    from broker_lite.pipeline.spark.running import Signals, running

    archive = class_archive(find_java())
    if archive is None:
        raise ArchiveError("the cache folder cannot be written")
    if archive.is_there:
        print(f"{archive.path} is there already.")
        return 0
    print("Starting Spark once to see which classes it loads ...", file=sys.stderr)
    with nothing_left_of(archive):
        with running(name, options.master, conf, is_quiet=True, makes=archive) as spark:
            _exercise(spark)
        print("Writing them ...", file=sys.stderr)
        with Signals() as signals:
            try:
                end_java_and_publish(archive)
            finally:
                if signals.stopped is not None:
                    sys.stderr.write(f"{name}: stopped by {signals.stopped.name}\n")
    print(f"Made {archive.path}, {size_text(archive.path.stat().st_size)}.")
    return 0


def _exercise(spark: Session) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log, table = str(Path(folder, "log")), str(Path(folder, "table"))
        rows = spark.range(1000).selectExpr("'t' topic", "string(id) key", "string(id) value")
        rows.write.format("kafka_segments").mode("append").save(log)
        records = spark.read.format("kafka_segments").option("includeHeaders", "true").load(log)
        records.write.partitionBy("topic", "partition").parquet(table)
        read = spark.read.parquet(table)
        read.join(records, "offset").groupBy(records["key"]).count().orderBy("count").collect()
        batches = spark.read.format("kafka_segments").option("view", "batches").load(log)
        batches.groupBy("topic").agg({"sizeInBytes": "sum"}).collect()
