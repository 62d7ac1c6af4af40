"""Spark's Kafka connector, and the source by rows, in the session that all tests share."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.pipeline.connector.jars import require_connector
from tests.pipeline.spark.unpruned import Unpruned


@pytest.fixture(scope="session")
def connector_jars() -> list[Path]:
    """The jars of the connector, for a session of a test's own (`spark.jars`)."""
    return require_connector()


@pytest.fixture(scope="session")
def connector(spark: SparkSession, connector_jars: list[Path]) -> SparkSession:
    """The shared session, which knows `format("kafka")` from here on."""
    for jar in connector_jars:
        spark.sql(f"ADD JAR '{jar}'")
    return spark


@pytest.fixture(scope="session")
def unpruned(spark: SparkSession) -> None:
    """Make the name UNPRUNED known."""
    spark.dataSource.register(Unpruned)
