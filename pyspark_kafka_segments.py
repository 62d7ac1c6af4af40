"""Registers the data source `kafka_segments` with Spark automatically.

When a session meets the first unknown data source, Spark searches all top-level modules on the
driver's Python path whose name begins with `pyspark_` for a DefaultSource.
"""

from broker_lite.pipeline.spark.source import KafkaSegmentsSource as DefaultSource

__all__ = ["DefaultSource"]
