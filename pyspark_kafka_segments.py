"""Makes `spark.read.format("kafka_segments")` known to Spark by itself.

Spark looks into every top-level module whose name begins with `pyspark_` for a DefaultSource, on
the driver's Python path, when a session meets the first data source that it does not know.
"""

from broker_lite.pipeline.spark.source import KafkaSegmentsSource as DefaultSource

__all__ = ["DefaultSource"]
