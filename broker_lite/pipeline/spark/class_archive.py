"""The archive of Java classes that makes Spark start in a third of the CPU time (AppCDS).

The first session of a Java and a PySpark version writes it when its Java ends, and takes some
seconds more to end; later sessions map it. Java itself passes over an archive that does not fit its
class path or its flags, so a wrong one costs time and nothing else.

Measured, local[2], to the end of the first query of the data source: 13.2 s of CPU without, 7.7
with only the quick compiler and the serial collector, 3.9 with the archive as well.
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
    """An archive, and the file that becomes it when there is none yet."""

    path: Path
    unfinished: Path

    @property
    def is_there(self) -> bool:
        """Whether a session has written it."""
        return self.path.exists()

    def java_options(self) -> str:
        """Options of a Java that uses the archive, or writes it when it ends."""
        told = "-Xlog:disable -Xlog:all=error:stderr"  # an archive that does not fit is no news
        if self.is_there:
            return f'"-XX:SharedArchiveFile={self.path}" {told}'
        return f'"-XX:ArchiveClassesAtExit={self.unfinished}" {told}'

    def publish(self) -> None:
        """Give the file that a Java has written its name; without one, do nothing.

        What other sessions have not finished is removed: theirs is not needed any more.
        """
        with suppress(FileNotFoundError):  # another session was faster, or this Java was killed
            os.replace(self.unfinished, self.path)
        if self.is_there:
            for left in self.path.parent.glob(f"{self.path.stem}.*{_UNFINISHED}"):
                left.unlink(missing_ok=True)


def class_archive(java: Java, pyspark_version: str = pyspark.__version__) -> ClassArchive | None:
    """Name the archive of a Java and a PySpark version; None when the cache cannot be written."""
    name = re.sub(r"[^\w.+-]", "_", f"spark-classes-{java.version}-{pyspark_version}")
    path = user_cache(f"{name}.jsa")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        logger.info("no archive of classes, the cache cannot be written reason=%s", error)
        return None
    return ClassArchive(path, path.with_name(f"{name}.{os.getpid()}{_UNFINISHED}"))


def write_at_exit(archive: ClassArchive) -> None:
    """Wait at the end of this process for the Java that it started, which writes the archive."""
    atexit.register(_end_java, archive)


def _end_java(archive: ClassArchive) -> None:
    """End the session and its Java, and publish what that leaves."""
    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()
    gateway = SparkContext._gateway
    if gateway is None or gateway.proc is None:
        return  # no Java was started, or somebody else started it
    gateway.shutdown()
    process = gateway.proc
    process.stdin.close()  # the end of its input ends it
    try:
        process.wait(WRITE_TIMEOUT_S)
    except TimeoutExpired:
        logger.warning("archive of classes not written in time path=%s", archive.path)
        return
    archive.publish()
