"""The running broker in Spark: what its own Kafka connector reads and writes, with our defaults.

The connector is no part of PySpark: a session gets it by `spark.jars.packages`, which takes what
connector_package() gives, or by `spark.jars`. Every option of it can be given here as well, with
its name as a keyword or, where that has dots, in a dict: `**{"kafka.security.protocol": "SSL"}`.

Its consumer asks the broker twice where a log begins and ends for each poll, and polls 500 records
unless it is told otherwise. MAX_POLL_RECORDS does: with records of 100 bytes that is 1.5 times the
speed, with a quarter of the broker's CPU time.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

MAX_POLL_RECORDS: Final = 10_000
CONNECTOR_VERSION: Final = "4.2.0"
"""The newest connector that is published; it runs in PySpark 4.3, too."""

_READ: Final[Mapping[str, str]] = MappingProxyType(
    {"kafka.max.poll.records": str(MAX_POLL_RECORDS)}
)
_NO_OPTIONS: Final[Mapping[str, str]] = MappingProxyType({})
_SELECTIONS: Final = frozenset(("subscribe", "subscribepattern", "assign"))


def connector_package(version: str = CONNECTOR_VERSION) -> str:
    """Name the connector for `spark.jars.packages`."""
    return f"org.apache.spark:spark-sql-kafka-0-10_2.13:{version}"


def read_options(
    bootstrap: str, topics: str | None = None, options: Mapping[str, str] = _NO_OPTIONS
) -> dict[str, str]:
    """Give what `format("kafka")` is told to read topics of a broker.

    Args:
        bootstrap: HOST:PORT of the broker, or several with commas between them.
        topics: names with commas between them; None where subscribePattern or assign say it.
        options: of the connector; they go before the defaults.

    Raises:
        ValueError: it is not said once which topics are read.
    """
    chosen = [name for name in options if name.lower() in _SELECTIONS]
    if topics is not None:
        chosen.append("topics")
    if len(chosen) != 1:
        raise ValueError(
            "topics, subscribePattern, assign: exactly one of them is needed, not"
            f" {', '.join(chosen) or 'none'}"
        )
    named = {} if topics is None else {"subscribe": topics}
    return {"kafka.bootstrap.servers": bootstrap, **_READ, **named, **options}


def read(
    spark: SparkSession, bootstrap: str, topics: str | None = None, **options: str
) -> DataFrame:
    """Read what a broker has of topics now.

    Args:
        spark: a session with the connector.
        bootstrap: HOST:PORT of the broker, or several with commas between them.
        topics: names with commas between them; None where subscribePattern or assign say it.
        options: of the connector; they go before the defaults.

    Raises:
        ValueError: it is not said once which topics are read.
    """
    return spark.read.format("kafka").options(**read_options(bootstrap, topics, options)).load()


def read_stream(
    spark: SparkSession, bootstrap: str, topics: str | None = None, **options: str
) -> DataFrame:
    """Follow topics of a broker; unless startingOffsets says otherwise, from their end on.

    Args:
        spark: a session with the connector.
        bootstrap: HOST:PORT of the broker, or several with commas between them.
        topics: names with commas between them; None where subscribePattern or assign say it.
        options: of the connector; they go before the defaults.

    Raises:
        ValueError: it is not said once which topics are read.
    """
    reader = spark.readStream.format("kafka")
    return reader.options(**read_options(bootstrap, topics, options)).load()


def write(frame: DataFrame, bootstrap: str, topic: str | None = None, **options: str) -> None:
    """Append rows to topics of a broker.

    Args:
        frame: with a column value, and key, headers, partition and topic where they are wanted.
        bootstrap: HOST:PORT of the broker, or several with commas between them.
        topic: of all rows; None takes the column of this name.
        options: of the connector.
    """
    frame.write.format("kafka").options(**_write_options(bootstrap, topic, options)).save()


def write_stream(
    frame: DataFrame, bootstrap: str, checkpoint: str, topic: str | None = None, **options: str
) -> StreamingQuery:
    """Start a query that appends the rows of a stream to topics of a broker.

    What a trigger wrote that was interrupted is written again after a restart.

    Args:
        frame: as of write, with rows of a stream.
        bootstrap: HOST:PORT of the broker, or several with commas between them.
        checkpoint: directory of the query's own.
        topic: of all rows; None takes the column of this name.
        options: of the connector.
    """
    writer = frame.writeStream.format("kafka").option("checkpointLocation", checkpoint)
    return writer.options(**_write_options(bootstrap, topic, options)).start()


def _write_options(bootstrap: str, topic: str | None, given: Mapping[str, str]) -> dict[str, str]:
    named = {} if topic is None else {"topic": topic}
    return {"kafka.bootstrap.servers": bootstrap, **named, **given}
