"""The archive of Java classes (AppCDS) with which Spark starts in a third of the CPU time.

The first session of a Java and a PySpark version writes it when its Java ends, which takes some
extra seconds; later sessions map it. Java ignores an archive that does not fit its class path or
its flags, so a wrong archive costs time and nothing else.

CPU time to the end of the first query of the data source, local[2]: 13.2 s without the archive, 7.7
s with the quick compiler and the serial collector alone, 3.9 s with the archive as well.
"""

import atexit
import logging
import os
import re
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Final, NamedTuple

import pyspark
from pyspark import SparkContext

from broker_lite.pipeline.spark.java import Java
from broker_lite.pipeline.spark.user_cache import user_cache

WRITE_TIMEOUT_S: Final = 120

_UNFINISHED: Final = ".part"

logger = logging.getLogger("broker_lite.pipeline")


class ClassArchive(NamedTuple):
    """The path of the archive, and of the unfinished file that becomes it."""

    path: Path
    unfinished: Path

    @property
    def is_there(self) -> bool:
        """Whether the archive exists."""
        return self.path.exists()

    def java_options(self) -> str:
        """Options for a Java that uses the archive, or else writes it when it ends."""
        told = (
            "-Xlog:disable -Xlog:all=error:stderr"  # no warnings about an archive that does not fit
        )
        if self.is_there:
            return f'"-XX:SharedArchiveFile={self.path}" {told}'
        return f'"-XX:ArchiveClassesAtExit={self.unfinished}" {told}'

    def publish(self) -> None:
        """Rename the file that a Java has written; do nothing if there is none.

        Unfinished files of other sessions are removed, because one archive is enough.
        """
        with suppress(FileNotFoundError):  # another session was faster, or this Java was killed
            os.replace(self.unfinished, self.path)
        if self.is_there:
            for left in self.path.parent.glob(f"{self.path.stem}.*{_UNFINISHED}"):
                left.unlink(missing_ok=True)


def class_archive(java: Java, pyspark_version: str = pyspark.__version__) -> ClassArchive | None:
    """Name the archive of a Java and a PySpark version; None if the cache cannot be written."""
    name = re.sub(r"[^\w.+-]", "_", f"spark-classes-{java.version}-{pyspark_version}")
    path = user_cache(f"{name}.jsa")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        logger.info("no archive of classes, the cache cannot be written reason=%s", error)
        return None
    return ClassArchive(path, path.with_name(f"{name}.{os.getpid()}{_UNFINISHED}"))


def write_at_exit(archive: ClassArchive) -> None:
    """At the end of this process, wait until its Java has written the archive."""
    atexit.register(_end_java, archive)


def _end_java(archive: ClassArchive) -> None:
    """End the session and its Java, and publish the archive."""
    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()
    gateway = SparkContext._gateway
    if gateway is None or gateway.proc is None:
        return  # no Java runs, or another process started it
    gateway.shutdown()
    process = gateway.proc
    process.stdin.close()  # the end of its input makes it exit
    try:
        process.wait(WRITE_TIMEOUT_S)
    except TimeoutExpired:
        logger.warning("archive of classes not written in time path=%s", archive.path)
        return
    archive.publish()
