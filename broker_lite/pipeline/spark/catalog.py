"""Makes the topics of a log directory known to SQL by their names: `SELECT … FROM logs.orders`.

Spark loads a catalog plug-in only as a class of Java, and a table of its own catalog may not have
dots or dashes in its name. A global temporary view may, and Spark lets a session name the database
of these views. So each topic gets a view in that database.

A view is a filter over one read of all topics. So Spark starts Python once for all views, and not
once for each. The planner opens only the logs of the topic that the filter names.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from broker_lite.pipeline.files.layout import find_partitions
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.read.options import ReadOptions

LOGS: Final = "spark.broker_lite.logs"
"""The setting of session() that names a log directory."""
DATABASE: Final = "spark.sql.globalTempDatabase"
DATABASE_NAME: Final = "logs"

_PUSHDOWN: Final = "spark.sql.python.filterPushdown.enabled"
_CASE_SENSITIVE: Final = "spark.sql.caseSensitive"


class CatalogError(ValueError):
    """The topics cannot be names of SQL; the text is one line for the user."""


def register_logs(
    spark: SparkSession, path: str, options: Mapping[str, str] = MappingProxyType({})
) -> tuple[str, ...]:
    """Give each topic a view of its name; call it again to see new topics.

    The views are in the database that spark.sql.globalTempDatabase named when Spark started: `logs`
    if session() was told of a log directory, else `global_temp`. All sessions of the program see
    them. A view of a topic that is gone since has no rows.

    Args:
        spark: a session; it gets spark.sql.python.filterPushdown.enabled=true.
        path: of the data source; it is listed once.
        options: of the data source, the same for all topics, such as includeHeaders=true.

    Returns:
        The names of the topics, sorted.

    Raises:
        CatalogError: two topics differ only in case, and Spark does not tell them apart.
        OptionError: an option cannot be used.
        FileNotFoundError: there is no such directory.
        OSError: it cannot be listed.
    """
    parsed = ReadOptions.parse({**options, "path": path})
    io, root = open_file_io(path)
    topics = sorted({topic for topic, _ in find_partitions(io, root, parsed.selection.wants)})
    if str(spark.conf.get(_CASE_SENSITIVE)).lower() != "true":
        _check_case(topics)
    spark.conf.set(_PUSHDOWN, "true")
    reader = spark.read.format("kafka_segments").options(**options)
    records = reader.option("pushdown", "true").load(path)
    for topic in topics:
        view = records.where(F.col("topic") == topic)
        view.createOrReplaceGlobalTempView(f"`{topic}`")
    return tuple(topics)


def _check_case(topics: Iterable[str]) -> None:
    seen: dict[str, str] = {}
    for topic in topics:
        other = seen.setdefault(topic.lower(), topic)
        if other != topic:
            raise CatalogError(
                f"topics {other} and {topic} are one name to Spark:"
                f" {_CASE_SENSITIVE}=true tells them apart, or subscribe names one of them"
            )
