"""`df.write.format("kafka_segments")`: appends rows to logs as new segments.

Each attempt of a task writes staged files, which readers ignore; the driver commits the files of
the attempts that Spark accepted. So tasks may be retried, run twice or be killed.

The columns are those of Spark's Kafka sink: `value`, and optionally `key`, `topic`, `partition` and
`headers`. `timestamp` and `offset` are our additions. Other columns are ignored, so rows of the
record view can be written unchanged.
"""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from broker_lite.pipeline.files.log_root import (
    WriteRefused,
    is_data_directory,
    locked,
    refuse_unusable,
    sweep,
)
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.spark.worker import settle_worker
from broker_lite.pipeline.write.commit import commit
from broker_lite.pipeline.write.kept_batches import HEADER_COLUMN
from broker_lite.pipeline.write.log_writer import StagedSegment
from broker_lite.pipeline.write.options import WriteOptions
from broker_lite.pipeline.write.row_writer import RowWriter, WritePlan


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """The segments that an attempt of a task wrote."""

    segments: tuple[StagedSegment, ...]


class SegmentsWriter(DataSourceArrowWriter):
    """Appends the rows of a DataFrame to the logs of a directory.

    Args:
        options: of the write, as the user gave them.
        schema: of the DataFrame.
        overwrite: the user wants to replace the logs, which is refused.

    Raises:
        OptionError: an option cannot be used.
        WriteRefused: the directory is in use or must not be written to.
        ValueError: a column is missing.
    """

    def __init__(
        self, options: Mapping[str, str | None], schema: StructType, overwrite: bool
    ) -> None:
        parsed = WriteOptions.parse(options)
        if overwrite:
            raise WriteRefused('logs are appended to, not overwritten: mode("append") is allowed')
        _check_columns(parsed, schema.fieldNames())
        io, root = open_file_io(parsed.path)
        with locked(io, root):
            refuse_unusable(io, root)
        if parsed.keep_batches and is_data_directory(io, root):
            raise WriteRefused(
                f"data directory {root} of a broker: producer ids are its own, so keepBatches=false"
            )
        self.plan = WritePlan.make(io, root, parsed, f"{uuid.uuid4().hex}-")

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:  # type: ignore[explicit-override]
        """Write the rows of one attempt of a task."""
        settle_worker()
        attempt = uuid.uuid4()
        writer = RowWriter(self.plan, attempt.hex, first_unkeyed=attempt.int)
        for arrow_batch in iterator:
            writer.write(arrow_batch)
        return Written(tuple(writer.close()))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:  # type: ignore[explicit-override]
        """Append the segments in the order of the tasks, and remove other staged files.

        Raises:
            WriteRefused: the directory is in use by now, or offsets do not rise.
        """
        plan = self.plan
        segments = [
            segment
            for message in messages
            if isinstance(message, Written)
            for segment in message.segments
        ]
        commit(
            plan.io,
            plan.root,
            segments,
            base_offset=plan.options.base_offset,
            sync=plan.options.sync,
            gaps_are_compacted=plan.options.keep_offsets,
        )
        sweep(plan.io, plan.root, plan.job)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:  # type: ignore[explicit-override]
        """Remove the files of all attempts."""
        sweep(self.plan.io, self.plan.root, self.plan.job)


def _check_columns(options: WriteOptions, columns: list[str]) -> None:
    if "value" not in columns:
        raise ValueError("the DataFrame has no column value")
    if options.topic is None and "topic" not in columns:
        raise ValueError("the DataFrame has no column topic, and there is no option topic")
    if options.keep_offsets and "offset" not in columns:
        raise ValueError("option keepOffsets: the DataFrame has no column offset")
    if options.keep_batches and HEADER_COLUMN not in columns:
        raise ValueError(f"option keepBatches: the DataFrame has no column {HEADER_COLUMN}")
