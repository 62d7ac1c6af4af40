import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from broker_lite.pipeline.spark import live
from tests.pipeline.connector.jars import CONNECTOR_VERSION
from tests.support.broker_process import BrokerProcess

pytestmark = pytest.mark.client

RECORDS = 1000
TIMEOUT_S = 60
# Spark keeps its producers for minutes; those of a broker that is gone shall not ask for it.
ENDS_QUIETLY = {
    "kafka.reconnect.backoff.ms": "600000",
    "kafka.reconnect.backoff.max.ms": "600000",
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    folder = tmp_path_factory.mktemp("live") / "data"
    with BrokerProcess(folder, settings=["num.partitions=2"]) as broker:
        yield broker


def numbers(spark: SparkSession) -> DataFrame:
    return spark.range(RECORDS).selectExpr(
        "cast(id AS string) AS key",
        "cast(id AS string) AS value",
        "array(struct('h' AS key, cast('v' AS binary) AS value)) AS headers",
    )


def keys(rows: DataFrame) -> list[int]:
    return sorted(int(row.key) for row in rows.collect())


def test_the_connector_that_is_named_is_the_one_that_is_tested() -> None:
    package = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{CONNECTOR_VERSION}"
    assert live.connector_package() == package
    assert live.connector_package("4.3.0").endswith(":4.3.0")


def test_what_the_connector_is_told() -> None:
    assert live.read_options("host:9092", "a,b") == {
        "kafka.bootstrap.servers": "host:9092",
        "kafka.max.poll.records": "10000",
        "subscribe": "a,b",
    }
    given = {"subscribePattern": "a.*", "kafka.max.poll.records": "500"}
    assert live.read_options("h:1", None, given) == {"kafka.bootstrap.servers": "h:1", **given}


@pytest.mark.parametrize(
    ("topics", "options"),
    [(None, {}), ("a", {"subscribePattern": "a"}), (None, {"assign": "{}", "SUBSCRIBE": "a"})],
)
def test_which_topics_are_read_is_said_once(topics: str | None, options: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="exactly one of them is needed"):
        live.read_options("127.0.0.1:1", topics, options)


def test_what_is_written_is_read(connector: SparkSession, broker: BrokerProcess) -> None:
    headers = {"includeHeaders": "true"}
    live.write(numbers(connector), broker.bootstrap, "batch", **headers, **ENDS_QUIETLY)
    rows = live.read(connector, broker.bootstrap, "batch", **headers)
    assert keys(rows) == list(range(RECORDS))
    assert rows.first().headers == [("h", b"v")]
    assert live.read(connector, broker.bootstrap, subscribePattern="bat.*").count() == RECORDS


def test_topics_by_a_column(connector: SparkSession, broker: BrokerProcess) -> None:
    rows = numbers(connector).selectExpr("key", "value", "'by-' || cast(key % 2 AS int) AS topic")
    live.write(rows, broker.bootstrap, **ENDS_QUIETLY)
    assert live.read(connector, broker.bootstrap, "by-0").count() == RECORDS / 2


def test_a_stream_from_a_topic_to_a_topic(
    connector: SparkSession, broker: BrokerProcess, tmp_path: Path
) -> None:
    live.write(numbers(connector), broker.bootstrap, "source", **ENDS_QUIETLY)
    rows = live.read_stream(connector, broker.bootstrap, "source", startingOffsets="earliest")
    folder = str(tmp_path / "checkpoint")
    copied = rows.select("key", "value")
    query = live.write_stream(copied, broker.bootstrap, folder, "copy", **ENDS_QUIETLY)
    try:
        deadline = time.monotonic() + TIMEOUT_S
        while sum(progress.numInputRows for progress in query.recentProgress) < RECORDS:
            assert query.isActive, query.exception()
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        query.stop()
    assert keys(live.read(connector, broker.bootstrap, "copy")) == list(range(RECORDS))
