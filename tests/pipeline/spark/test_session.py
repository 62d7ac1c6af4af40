from pyspark.sql import SparkSession


def test_session_is_there(spark: SparkSession) -> None:
    assert spark.range(10).count() == 10
