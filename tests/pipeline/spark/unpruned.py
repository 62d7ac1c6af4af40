"""The data source by a name that only Python knows: Spark reads all its columns, by rows."""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from broker_lite.pipeline.spark.source import KafkaSegmentsSource

UNPRUNED = "kafka_segments_unpruned"


class Unpruned(KafkaSegmentsSource):
    """The same source by that name."""

    @classmethod
    def name(cls) -> str:  # type: ignore[explicit-override]
        return UNPRUNED


def load(
    spark: SparkSession, path: Path, form: str = "kafka_segments", **options: str
) -> DataFrame:
    """All that a log directory has, by either name."""
    return spark.read.format(form).options(**options).load(str(path))


def plan_of(frame: DataFrame) -> str:
    """The plan of a query, as explain("formatted") prints it."""
    jvm = frame.sparkSession.sparkContext._jvm
    assert jvm is not None
    mode = jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
    return str(frame._jdf.queryExecution().explainString(mode))
