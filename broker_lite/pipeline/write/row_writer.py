"""One task of a write: divides rows among partitions and writes staged segments.

Rows keep their order within a partition. A row goes to the partition that it names; otherwise to
that of its key, as chosen by Kafka's producer; without a key, to a partition that changes with each
Arrow batch.
"""

import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc

from broker_lite.log.files.names import parse_partition_directory
from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.files.log_root import refuse_unknown_partition
from broker_lite.pipeline.write.encode import BatchEncoder
from broker_lite.pipeline.write.kept_batches import HEADER_COLUMN, KeptBatches
from broker_lite.pipeline.write.log_writer import LogWriter, Placement, StagedSegment
from broker_lite.pipeline.write.options import TimestampType, WriteOptions, topic_name
from broker_lite.pipeline.write.record_input import RecordInput, bytes_column, record_input
from broker_lite.record.loops.encode_records import assign_partitions


class WritePlan(NamedTuple):
    """The common input of all tasks of a write, made once on the driver.

    Attributes:
        root: the log directory, a path inside its FileIO.
        job: prefix of the tags of all attempts.
        now_ms: timestamp of rows without one, and for LogAppendTime; the same in every attempt.
        partition_counts: of the existing topics.
    """

    io: FileIO
    root: str
    options: WriteOptions
    job: str
    now_ms: int
    partition_counts: Mapping[str, int]

    @classmethod
    def make(cls, io: FileIO, root: str, options: WriteOptions, job: str) -> Self:
        """Read the partitions of a log directory, and the clock.

        Raises:
            OSError: the directory cannot be listed.
        """
        counts: dict[str, int] = {}
        for info in io.list(root) if io.exists(root) else ():
            parsed = parse_partition_directory(info.name) if info.is_directory else None
            if parsed is not None:
                counts[parsed[0]] = max(counts.get(parsed[0], 0), parsed[1] + 1)
        return cls(io, root, options, job, time.time_ns() // 1_000_000, counts)


class _Output(NamedTuple):
    """Where the rows of one partition go; `kept` is for rows with a column `batch`."""

    encoder: BatchEncoder
    writer: LogWriter
    kept: KeptBatches | None


class RowWriter:
    """Writes the rows of one attempt of a task.

    Args:
        plan: of the write.
        attempt: a unique name.
        first_unkeyed: number of the first partition for rows without a key.
    """

    def __init__(self, plan: WritePlan, attempt: str, first_unkeyed: int = 0) -> None:
        self._plan = plan
        self._tag = f"{plan.job}-{attempt}"
        self._unkeyed = first_unkeyed
        self._outputs: dict[tuple[str, int], _Output] = {}

    def write(self, arrow_batch: pa.RecordBatch) -> None:
        """Write the rows of an Arrow batch.

        Raises:
            ValueError: a row cannot be written; the text says why.
            OSError: a file cannot be written.
        """
        for topic, rows in self._by_topic(arrow_batch):
            partitions = self._partitions(rows, topic)
            order = pc.sort_indices(partitions)  # stable, so rows of a partition keep their order
            rows = rows.take(order)
            records = record_input(
                rows,
                default_timestamp_ms=self._plan.now_ms,
                keep_offsets=self._plan.options.keep_offsets,
            )
            headers = rows.column(HEADER_COLUMN) if self._plan.options.keep_batches else None
            runs = pc.run_end_encode(partitions.take(order))
            first = 0
            for partition, end in zip(
                runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True
            ):
                self._append(topic, partition, records, headers, first, end)
                first = end
        self._unkeyed += 1

    def close(self) -> list[StagedSegment]:
        """Finish all files and return their segments, sorted by topic and partition.

        Raises:
            OSError: a file cannot be written.
        """
        segments = []
        for _, output in sorted(self._outputs.items(), key=lambda item: item[0]):
            if output.kept is not None:
                output.kept.finish()
            elif output.encoder.record_count:
                output.writer.append(output.encoder.finish())
            segments += output.writer.close()
        return segments

    def _by_topic(self, rows: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        if self._plan.options.topic is not None:
            yield self._plan.options.topic, rows
            return
        topics = rows.column("topic")
        if topics.null_count:
            raise ValueError(
                "a row has no topic: fill its column, or give all rows one by the option topic"
            )
        names = pc.unique(topics).to_pylist()
        for name in names:
            yield name, rows if len(names) == 1 else rows.filter(pc.equal(topics, name))

    def _partitions(self, rows: pa.RecordBatch, topic: str) -> pa.Array:
        names = rows.schema.names
        given = pc.cast(rows.column("partition"), pa.int32()) if "partition" in names else None
        if given is not None and not given.null_count:
            return given
        count = self._plan.options.partitions or self._plan.partition_counts.get(topic, 1)
        chosen = pa.array([self._unkeyed % count], pa.int32()).take(pa.array([0] * len(rows)))
        keys = bytes_column(rows.column("key")) if "key" in names else None
        if keys is not None:
            target = memoryview(bytearray(4 * len(rows))).cast("i")
            assign_partitions(keys, count, self._unkeyed % count, target)
            chosen = pa.Array.from_buffers(pa.int32(), len(rows), [None, pa.py_buffer(target)])
        return chosen if given is None else pc.coalesce(given, chosen)

    def _append(
        self,
        topic: str,
        partition: int,
        records: RecordInput,
        headers: pa.Array | None,
        first: int,
        end: int,
    ) -> None:
        output = self._outputs.get((topic, partition))
        if output is None:
            output = self._outputs[topic, partition] = self._open(topic, partition)
        if output.kept is not None:
            output.kept.append(records, headers, first, end)
            return
        for batch in output.encoder.append(records, first, end):
            output.writer.append(batch)

    def _open(self, topic: str, partition: int) -> _Output:
        plan, options = self._plan, self._plan.options
        if partition < 0:
            raise ValueError(f"partition {partition} of topic {topic} is below 0")
        placement = Placement(
            plan.root,
            topic_name(topic),
            partition,
            self._tag,
            is_relative=not options.keep_offsets,
            segment_bytes=options.segment_bytes,
        )
        refuse_unknown_partition(plan.io, plan.root, placement.directory)
        appended = options.timestamp_type is TimestampType.LOG_APPEND_TIME
        encoder = BatchEncoder(
            0,
            batch_bytes=options.batch_bytes,
            codec=options.compression.codec,
            log_append_time_ms=plan.now_ms if appended else None,
        )
        writer = LogWriter(plan.io, placement)
        codec = options.compression.codec if options.is_compressed_anew else None
        kept = KeptBatches(encoder, writer, codec) if options.keep_batches else None
        return _Output(encoder, writer, kept)
