"""The data source `kafka_segments_plain_sizes`: sums of sizes, one row per task and codec.

The workers decompress the batches to measure them, and return small sums. It takes the options of
`kafka_segments` for a batch query.
"""

from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.plan import plan
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.report.plain_sizes import plain_sizes
from broker_lite.pipeline.spark.worker import settle_worker

FORMAT: Final = "kafka_segments_plain_sizes"


class PlainSizeSource(DataSource):
    """Sizes of the batches in a log directory."""

    @classmethod
    def name(cls) -> str:  # type: ignore[explicit-override]
        """Give the name of the format."""
        return FORMAT

    def schema(self) -> str:  # type: ignore[explicit-override]
        """Give the columns."""
        return (
            "topic string, codec string, batches long, records long, storedBytes long,"
            " plainBytes long"
        )

    def reader(self, schema: StructType) -> DataSourceReader:  # type: ignore[explicit-override]
        """Make a reader.

        Raises:
            OptionError: an option cannot be used.
        """
        # Splits of the batch view are cut between batches, so that no batch counts twice.
        return PlainSizeReader(ReadOptions.parse({**self.options, "view": "batches"}))


class PlainSizeReader(DataSourceReader):
    """Sums up each split."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options

    def partitions(self) -> list[InputPartition]:  # type: ignore[explicit-override]
        """Plan the splits.

        Raises:
            PlanError: the log cannot be read as the options say.
            OSError: the log directory cannot be read.
        """
        io, root = open_file_io(self.options.path)
        return [InputPartition(split) for split in plan(io, root, self.options)]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:  # type: ignore[explicit-override]
        """Sum up a split."""
        settle_worker()
        split: Split | None = partition.value
        if split is not None:  # without any partition, Spark still runs one task, with None
            io, _ = open_file_io(split.uri)
            yield from plain_sizes(io, split)
