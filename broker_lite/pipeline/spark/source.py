"""The data source `kafka_segments`, which reads and writes segment files.

Spark makes a KafkaSegmentsSource for each query and pickles it between driver and workers, so
nothing here opens a file before the plan or the read. A task gets a split and returns the Arrow
batches of the view.

Spark does not say which columns a query needs, so the user says it by `columns=` or `.schema(...)`.
Spark passes filters to a reader only if `spark.sql.python.filterPushdown.enabled` is set; without
that, a reader with pushFilters() makes every query fail. So there are two readers, and
`pushdown=true` chooses the one that takes filters.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceWriter,
    Filter,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.spark.packed import is_packed, pack, without_packed
from broker_lite.pipeline.spark.pushdown import pruning_of
from broker_lite.pipeline.spark.stream import SegmentsStreamReader
from broker_lite.pipeline.spark.worker import settle_worker
from broker_lite.pipeline.spark.writer import SegmentsWriter
from broker_lite.pipeline.stream.planned import plan_query, plan_settled, read_planned
from broker_lite.pipeline.views.decoded_columns import with_schemas
from broker_lite.pipeline.views.table import view_schema


class SchemaError(ValueError):
    """The wanted schema does not fit the view; the text is one line for the user."""


class KafkaSegmentsSource(DataSource):
    """The source and sink for DataFrames."""

    @classmethod
    def name(cls) -> str:  # type: ignore[explicit-override]
        """Give the name of the format."""
        return "kafka_segments"

    def schema(self) -> StructType:  # type: ignore[explicit-override]
        """Return the columns of the view, or those that columns= names.

        Raises:
            OptionError: an option cannot be used.
            ValueError: there is no such column.
            NoResultSchema: the schema of a decoded column cannot be had.
        """
        options = with_schemas(ReadOptions.parse(self.options, is_stream=None))
        return from_arrow_schema(view_schema(options))

    def reader(self, schema: StructType) -> DataSourceReader:  # type: ignore[explicit-override]
        """Make the reader of a batch query.

        Raises:
            OptionError: an option cannot be used.
            SchemaError: the view does not have these columns.
        """
        options = with_schema(ReadOptions.parse(self.options), without_packed(schema))
        form = PushdownReader if options.pushdown else SegmentsReader
        return form(options, is_packed=is_packed(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # type: ignore[explicit-override]
        """Make the reader of a stream.

        Raises:
            OptionError: an option cannot be used.
            SchemaError: the view does not have these columns.
        """
        return SegmentsStreamReader(
            with_schema(ReadOptions.parse(self.options, is_stream=True), schema)
        )

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # type: ignore[explicit-override]
        """Make the writer of a query.

        Raises:
            OptionError: an option cannot be used.
            WriteRefused: the log directory is in use or must not be written to.
            ValueError: a column is missing.
        """
        return SegmentsWriter(self.options, schema, overwrite)


class SegmentsReader(DataSourceReader):
    """Reads the splits of a batch query."""

    def __init__(self, options: ReadOptions, *, is_packed: bool = False) -> None:
        """Read as the options say; batches are packed if is_packed."""
        self.options = options
        self._is_packed = is_packed

    def partitions(self) -> list[InputPartition]:  # type: ignore[explicit-override]
        """Plan the splits.

        Raises:
            PlanError: the log cannot be read as the options say.
            OSError: the log directory cannot be read.
        """
        return [InputPartition(split) for split in plan_query(self.options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # type: ignore[explicit-override]
        """Yield the rows of a split."""
        batches = read_split(partition, self.options)
        return map(pack, batches) if self._is_packed else batches


class PushdownReader(SegmentsReader):
    """Reads only the splits in which the filters of the query can find rows."""

    def __init__(self, options: ReadOptions, *, is_packed: bool = False) -> None:
        """Read as the options say; batches are packed if is_packed."""
        super().__init__(options, is_packed=is_packed)
        self.filters: list[Filter] = []

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # type: ignore[explicit-override]
        """Note the filters; return all of them, so that Spark filters the rows, too."""
        self.filters = filters
        return filters  # a split has more rows than the wanted ones

    def partitions(self) -> list[InputPartition]:  # type: ignore[explicit-override]
        """Plan the splits, without those that cannot have wanted rows.

        Raises:
            PlanError: the log cannot be read as the options say.
            OSError: the log directory cannot be read.
        """
        io, root = open_file_io(self.options.path)
        pruning = pruning_of(self.filters, self.options.view)
        splits = plan_settled(io, root, self.options, pruning)
        return [InputPartition(split) for split in splits]


def read_split(partition: InputPartition, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Read the split of one task.

    Args:
        partition: has a split, or None: Spark runs a task even if there are no splits.
        options: of the reader.
    """
    settle_worker()
    split: Split | None = partition.value
    if split is not None:
        io, _ = open_file_io(split.uri)
        yield from read_planned(io, split, options)


def with_schema(options: ReadOptions, schema: StructType) -> ReadOptions:
    """Return the options with the columns of a schema, in its order.

    Args:
        options: of a read.
        schema: the view's, or the one that the user gave by .schema(...).

    Raises:
        SchemaError: the view lacks a column, or has it with another type.
    """
    columns = tuple(schema.fieldNames())
    try:
        chosen = with_schemas(replace(options, columns=columns))
        there = view_schema(chosen)
    except ValueError as error:
        raise SchemaError(f"schema: {error}") from error
    for ours, theirs in zip(from_arrow_schema(there), schema, strict=True):
        if (ours.name, ours.dataType) != (theirs.name, theirs.dataType):
            raise SchemaError(
                f"schema: there is {ours.name} {ours.dataType.simpleString()},"
                f" not {theirs.name} {theirs.dataType.simpleString()}"
            )
    return chosen
