"""The tables of an export: one of records, and in its folder `_batches` one of the batches.

Spark, pyarrow and Iceberg pass over names that begin with an underscore, so a query of the records
does not see the batches. Import needs them to write the batches as they were. A table of Delta or
Iceberg has records only.
"""

from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from broker_lite.pipeline.spark.jobs.batch_states import STATE
from broker_lite.pipeline.spark.lake.formats import open_table
from broker_lite.pipeline.spark.lake.table import LakeTable
from broker_lite.pipeline.views.record_schema import BATCH_OFFSET

PARQUET: Final = "parquet"
BATCHES: Final = "_batches"

RECORD_COLUMNS: Final = (
    "key",
    "value",
    "topic",
    "partition",
    "offset",
    "timestamp",
    "timestampType",
    "headers",
)
"""Those of the record view, which every export has."""
KEPT_COLUMNS: Final = (STATE, BATCH_OFFSET)
"""How the transaction of the record ended, and where its batch begins."""

_SCHEMA: Final = (
    "key binary, value binary, offset long, timestamp timestamp, timestampType int,"
    " headers array<struct<key: string, value: binary>>, transaction string, batchOffset long,"
    " topic string, partition int"
)
_BATCH_SCHEMA: Final = (
    "topic string, partition int, baseOffset long, lastOffset long, recordCount int, magic int,"
    " codec string, timestampType int, isTransactional boolean, isControl boolean,"
    " producerId long, producerEpoch int, baseSequence int, partitionLeaderEpoch int,"
    " baseTimestamp timestamp, maxTimestamp timestamp, deleteHorizon timestamp,"
    " controlType string, controlValue binary, transaction string"
)


def read_export(spark: SparkSession, target: str, table_format: str = PARQUET) -> DataFrame:
    """Read the records of an export, with the columns of the record view."""
    return read_kept(spark, target, table_format).select(*RECORD_COLUMNS)


def read_kept(spark: SparkSession, target: str, table_format: str = PARQUET) -> DataFrame:
    """Read the records of an export with all columns; null where an older export lacks them.

    The schema is given, because Spark would guess a number or a date from some names of topics.

    Raises:
        FileNotFoundError: there is no table.
        LakeError: the table cannot be read, or a package is missing.
    """
    if table_format != PARQUET:
        return _read_lake(spark, open_table(target, table_format))
    if not is_there(spark, target):
        raise FileNotFoundError(f"{target}: there is no table")
    table = spark.read.schema(_SCHEMA).parquet(target)
    if not table.inputFiles() and not is_there(spark, batches_place(target)):
        raise FileNotFoundError(f"{target}: there is no file of a table")
    return table.select(*RECORD_COLUMNS, *KEPT_COLUMNS)


def _read_lake(spark: SparkSession, table: LakeTable) -> DataFrame:
    """Read the files that a table has now; they say nothing of transactions and batches."""
    found = spark.createDataFrame([], _SCHEMA).select(*RECORD_COLUMNS, *KEPT_COLUMNS)
    for held in table.held():
        # A folder topic=… would become a column beside the one that is added here.
        reader = spark.read.schema(_SCHEMA).option("recursiveFileLookup", "true")
        records = reader.parquet(*held.paths)
        if held.topic is not None:
            records = records.withColumn("topic", F.lit(held.topic))
        found = found.unionByName(records.select(*RECORD_COLUMNS, *KEPT_COLUMNS))
    return found


def read_batches_of(spark: SparkSession, target: str) -> DataFrame | None:
    """Read the batches of an export; None if it has none."""
    place = batches_place(target)
    return spark.read.schema(_BATCH_SCHEMA).parquet(place) if is_there(spark, place) else None


def batches_place(target: str) -> str:
    """Return the place of the batches of an export."""
    return f"{target.rstrip('/')}/{BATCHES}"


def is_there(spark: SparkSession, place: str) -> bool:
    """Tell whether Spark's file systems have a file or directory."""
    java = spark.sparkContext._jvm
    assert java is not None, "the session runs"
    path = java.org.apache.hadoop.fs.Path(place)
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    return bool(path.getFileSystem(conf).exists(path))
