"""The archive of Java classes (AppCDS) with which Spark starts in a third of the CPU time.

`broker-lite spark prepare` makes it once for a Java and a PySpark version; sessions map it if it is
there. To make it takes as long as a whole session, so no job does that by the way. Java ignores an
archive that does not fit its class path or its flags: a wrong one costs time and nothing else.

CPU time to the end of the first query of the data source, local[2]: 13.2 s without the archive, 7.7
s with the quick compiler and the serial collector alone, 3.9 s with the archive as well.
"""

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Final, NamedTuple

import pyspark
from pyspark import SparkContext

from broker_lite.pipeline.spark.java import Java
from broker_lite.pipeline.spark.user_cache import user_cache

WRITE_TIMEOUT_S: Final = 300

_UNFINISHED: Final = ".part"

logger = logging.getLogger("broker_lite.pipeline")


class ArchiveError(RuntimeError):
    """The archive was not made; the text is one line for the user."""


class ClassArchive(NamedTuple):
    """The path of the archive, and of the unfinished file that becomes it."""

    path: Path
    unfinished: Path

    @property
    def is_there(self) -> bool:
        """Whether the archive exists."""
        return self.path.exists()

    def use_options(self) -> str:
        """Options for a Java that uses the archive."""
        # No warnings about an archive that does not fit.
        return f'"-XX:SharedArchiveFile={self.path}" -Xlog:disable -Xlog:all=error:stderr'

    def make_options(self) -> str:
        """Options for a Java that writes the archive when it ends."""
        return f'"-XX:ArchiveClassesAtExit={self.unfinished}" -Xlog:disable -Xlog:all=error:stderr'

    def publish(self) -> None:
        """Rename the file that a Java has written; remove unfinished ones of other processes.

        Raises:
            FileNotFoundError: no Java has written it.
        """
        os.replace(self.unfinished, self.path)
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


def end_java_and_publish(archive: ClassArchive) -> None:
    """End the Java of this process, which writes the archive, and give that its name.

    Raises:
        ArchiveError: Java did not write it.
    """
    gateway = SparkContext._gateway
    if gateway is None or gateway.proc is None:
        raise ArchiveError("another process started Java, so it cannot write an archive")
    process = gateway.proc
    try:
        gateway.shutdown()
        process.stdin.close()  # the end of its input makes it exit
        if process.wait(WRITE_TIMEOUT_S) != 0:
            raise ArchiveError(f"Java ended with code {process.returncode} and wrote no archive")
        archive.publish()
    except TimeoutExpired as error:
        raise ArchiveError(f"Java has not written it in {WRITE_TIMEOUT_S} s") from error
    except OSError as error:
        raise ArchiveError(f"{archive.path}: {error.strerror}") from error


@contextmanager
def nothing_left_of(archive: ClassArchive) -> Iterator[None]:
    """At the end, end the Java that still may write the archive, and remove what it wrote.

    An archive that was there stays.
    """
    try:
        yield
    finally:
        gateway = SparkContext._gateway
        process = None if gateway is None else gateway.proc
        if process is not None and process.poll() is None:
            process.kill()
            process.wait()
        with suppress(FileNotFoundError):
            archive.unfinished.unlink()
