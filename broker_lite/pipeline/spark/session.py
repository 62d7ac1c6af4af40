"""Starts a Spark session with settings for the data source, on this machine or on a cluster.

The defaults, each of which `conf` can override: filters are pushed down; an error in Python is one
line, without the frames of Spark's worker; workers talk to Java by Unix sockets (10 to 30 % more
rows per second); rows go to Python in batches of 1000 (a write with headers needs a quarter of the
CPU); there is no user interface; and the driver's Java starts from the archive of its classes, if
that was made. If all of Spark runs on this machine, it listens on the loopback only, and workers
run this Python.

`spark.broker_lite.logs=PATH` makes the topics of a log directory tables of the database `logs`.
`spark.broker_lite.pruning=false` makes Spark read all columns, by rows, as in a session not from
here.

An existing session is returned unchanged. In a program that spark-submit runs, its settings win
over these defaults, but not over `conf`.
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
from broker_lite.pipeline.spark.catalog import DATABASE, DATABASE_NAME, LOGS, register_logs
from broker_lite.pipeline.spark.class_archive import ClassArchive, class_archive
from broker_lite.pipeline.spark.java import Java, find_java, quiet_home
from broker_lite.pipeline.spark.pruned_columns import is_wanted, jars_with_pruning, prune_columns

LOOPBACK: Final = "127.0.0.1"

_QUIET_LOG: Final = Path(__file__).with_name("log4j2.properties").as_uri()
_JARS: Final = "spark.jars"
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"  # set by spark-submit
_EVERYWHERE: Final = MappingProxyType(
    {
        "spark.ui.enabled": "false",
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.sql.execution.pyspark.udf.hideTraceback.enabled": "true",
        "spark.executorEnv.SPARK_HIDE_TRACEBACK": "1",  # the same for what is no SQL
        "spark.python.unix.domain.socket.enabled": "true",
        # For each row that goes to Python, Spark sums up the sizes of the batch so far. With an
        # array column, such as headers, this takes time in proportion to the rows of the batch.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    }
)
_ON_LOOPBACK: Final = MappingProxyType(
    {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
)


def session(
    app_name: str = "broker-lite",
    master: str | None = None,
    conf: Mapping[str, str] = MappingProxyType({}),
    *,
    quick_start: bool = False,
    is_quiet: bool = False,
    makes: ClassArchive | None = None,
) -> SparkSession:
    """Start a session, or return the existing one.

    Args:
        app_name: shown in logs and in a cluster's overview.
        master: as for spark-submit, such as local[2] or spark://host:7077. None means the master of
            spark-submit, else all cores of this machine.
        conf: settings of Spark; they override those of this module, except that the driver's Java
            options are combined. -Xshare:off among them turns the archive of classes off.
        quick_start: the driver uses the quick compiler and the serial collector. That is right for
            tests and jobs of less than a minute, and slower for longer ones.
        is_quiet: Java and Spark say nothing but errors; for programs that tell their users
            themselves.
        makes: an archive of classes that Java writes when it ends.

    Raises:
        NoJava: the machine has no Java that Spark runs on.
        CatalogError: the topics of spark.broker_lite.logs cannot be names of SQL.
        OSError: the directory of spark.broker_lite.logs cannot be listed.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    if _SUBMITTED in os.environ:
        SparkContext._ensure_initialized()
        settings = {name: SparkConf().get(name, value) for name, value in _EVERYWHERE.items()}
        place = conf.get(LOGS, SparkConf().get(LOGS, ""))
        return _started(app_name, master, {**settings, **_named(place), **conf}, place)
    java = find_java()
    master = master or "local[*]"
    place = conf.get(LOGS, "")
    settings = {**_EVERYWHERE, **(_ON_LOOPBACK if is_on_loopback(master) else {})}
    settings.update(_named(place), **conf)
    given = settings.get(_JAVA_OPTIONS, "")
    options = _java_options(java, given, quick_start, makes)
    if is_quiet:
        java = java._replace(home=quiet_home(java))
        if "-Dlog4j" not in given:
            options = f'"-Dlog4j2.configurationFile={_QUIET_LOG}" {options}'
    settings[_JAVA_OPTIONS] = options
    if is_wanted(settings):
        settings[_JARS] = jars_with_pruning(settings.get(_JARS, ""))
    with _environment(_variables(java, master)):
        return _started(app_name, master, settings, place)


def _named(place: str) -> dict[str, str]:
    """Return the setting that names the database of a catalog, if there is to be one."""
    return {DATABASE: DATABASE_NAME} if place else {}


def _started(
    app_name: str, master: str | None, settings: Mapping[str, str], place: str
) -> SparkSession:
    """Start the session; its catalog, if a log directory was named."""
    spark = _builder(app_name, master, settings).getOrCreate()
    if is_wanted(settings):
        prune_columns(spark)
    if place:
        register_logs(spark, place)
    return spark


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
    """Tell whether all of Spark runs on this machine."""
    host = urlsplit(master).hostname if "://" in master else None
    return master.startswith("local") or host in (LOOPBACK, "localhost", "::1")


def _java_options(
    java: Java, given: str, quick_start: bool, makes: ClassArchive | None = None
) -> str:
    options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"] if quick_start else []
    # A running Java takes no more options, and a user's -Xshare has precedence.
    is_started = SparkContext._gateway is not None
    archive = None if is_started or "-Xshare" in given else class_archive(java)
    if makes is not None:
        options.append(makes.make_options())
    elif archive is not None and archive.is_there:
        options.append(archive.use_options())
    return " ".join([*options, *([given] if given else [])])


def _variables(java: Java, master: str) -> dict[str, str]:
    """Return the environment for Spark's scripts, its Java and its workers."""
    variables = {"JAVA_HOME": str(java.home)}
    if not is_on_loopback(master):
        return variables
    # So that workers find the package, also in a checkout.
    package = str(Path(broker_lite.__file__).parents[1])
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    variables["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*paths, package]))
    variables["SPARK_LOCAL_IP"] = LOOPBACK
    variables["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
    return variables


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables while Java starts."""
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
