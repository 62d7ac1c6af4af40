"""A program whose streams a test kills: follows segments, and a broker if it is told one.

Each query writes what it reads to Parquet files, which Spark does exactly once.

    python -m tests.pipeline.spark.stream_driver FOLDER LOGS [BOOTSTRAP JARS]
"""

import sys
from pathlib import Path

from pyspark.sql import DataFrame

from broker_lite.pipeline.spark.live import read_stream
from broker_lite.pipeline.spark.session import session

OFFSETS_PER_TRIGGER = "300"
OPTIONS = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": OFFSETS_PER_TRIGGER}


def start(rows: DataFrame, folder: Path) -> None:
    """Start a query with a folder for its checkpoint and one for what it writes."""
    writer = rows.writeStream.format("parquet").option("path", str(folder / "rows"))
    writer.option("checkpointLocation", str(folder / "checkpoint")).start()


def main(folder: Path, logs: str, bootstrap: str = "", jars: str = "") -> None:
    """Run until it is killed, or a query fails."""
    conf = {
        "spark.driver.memory": "1g",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.showConsoleProgress": "false",
        "spark.jars": jars,
    }
    spark = session("follow", "local[2]", conf, quick_start=True)
    segments = spark.readStream.format("kafka_segments").options(**OPTIONS)
    start(segments.option("subscribePattern", "followed.*").load(logs), folder / "segments")
    if bootstrap:
        start(read_stream(spark, bootstrap, "live", **OPTIONS), folder / "live")
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
