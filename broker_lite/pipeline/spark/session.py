"""A Spark session with what the data source wants, on this machine or on a cluster.

What a session gets by itself is little, and each of it gives way to a `conf` of the same name:
filters may be pushed down, what fails in Python is told in one line without the frames of Spark's
worker, workers talk to Java by Unix sockets (measured: a tenth to a third more rows a second),
rows go to Python by the thousand (with headers a write takes a quarter of its CPU), no user
interface listens, and the driver's Java starts from an archive of its classes. When all of Spark is
on this machine it listens on the loopback only, and workers run this Python.

A session that is there already is taken as it is. In a program that spark-submit runs, what it was
told goes before all that is said here, except for a `conf`.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

import broker_lite
from broker_lite.pipeline.spark.class_archive import class_archive, write_at_exit
from broker_lite.pipeline.spark.java import Java, find_java

LOOPBACK: Final = "127.0.0.1"

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"  # how spark-submit tells a program of its Java
_EVERYWHERE: Final = MappingProxyType(
    {
        "spark.ui.enabled": "false",
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.sql.execution.pyspark.udf.hideTraceback.enabled": "true",
        "spark.python.unix.domain.socket.enabled": "true",
        # Rows on their way to Python: after each one Spark sums up the sizes of the batch so far,
        # which with an array column, such as headers, takes as long as the batch has rows.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    }
)
_ON_LOOPBACK: Final = MappingProxyType(
    {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
)


def session(
    app_name: str = "broker-lite",
    master: str | None = None,
    conf: Mapping[str, str] = _NOTHING,
    *,
    quick_start: bool = False,
) -> SparkSession:
    """Start a session, or give the one that is there.

    Args:
        app_name: told in logs and in a cluster's overview.
        master: as of spark-submit, such as local[2] or spark://host:7077; None is what spark-submit
            was told, else this machine with all of its cores.
        conf: settings of Spark; they go before those of this module, but the driver's Java options
            are those of both. With -Xshare:off among them there is no archive of classes.
        quick_start: the driver compiles its code quickly and collects garbage in one thread: right
            for tests and what takes less than a minute, slower for all that is longer.

    Raises:
        NoJava: the machine has no Java that Spark runs on.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    if _SUBMITTED in os.environ:
        SparkContext._ensure_initialized()
        settings = {name: SparkConf().get(name, value) for name, value in _EVERYWHERE.items()}
        return _builder(app_name, master, {**settings, **conf}).getOrCreate()
    java = find_java()
    master = master or "local[*]"
    settings = {**_EVERYWHERE, **(_ON_LOOPBACK if is_on_loopback(master) else {}), **conf}
    settings[_JAVA_OPTIONS] = _java_options(java, settings.get(_JAVA_OPTIONS, ""), quick_start)
    with _environment(_variables(java, master)):
        return _builder(app_name, master, settings).getOrCreate()


def _builder(
    app_name: str, master: str | None, settings: Mapping[str, str]
) -> SparkSession.Builder:
    builder = SparkSession.builder.appName(app_name)
    if master is not None:
        builder = builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder


def is_on_loopback(master: str) -> bool:
    """Tell whether nobody beyond this machine takes part."""
    host = urlsplit(master).hostname if "://" in master else None
    return master.startswith("local") or host in (LOOPBACK, "localhost", "::1")


def _java_options(java: Java, given: str, quick_start: bool) -> str:
    options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"] if quick_start else []
    # A Java that runs takes no more options, and one told -Xshare knows what it wants.
    is_started = SparkContext._gateway is not None
    archive = None if is_started or "-Xshare" in given else class_archive(java)
    if archive is not None:
        options.append(archive.java_options())
        if not archive.is_there:
            write_at_exit(archive)
    return " ".join([*options, *([given] if given else [])])


def _variables(java: Java, master: str) -> dict[str, str]:
    """Name the variables that Spark's scripts, its Java and its workers want."""
    variables = {"JAVA_HOME": str(java.home)}
    if not is_on_loopback(master):
        return variables
    # Workers find the package and the data source from a checkout, too.
    package = str(Path(broker_lite.__file__).parents[1])
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    variables["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*paths, package]))
    variables["SPARK_LOCAL_IP"] = LOOPBACK
    variables["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
    return variables


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for as long as Java is being started."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
