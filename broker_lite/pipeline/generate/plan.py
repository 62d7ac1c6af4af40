"""Computes the place of each batch of a generated log, without generating the batches before it.

All batches of a topic have the same number of records, except the last one of a partition.
Producers take turns batch by batch. With transactions, each producer writes `transaction_batches`
batches, and then come the markers of all: that is a cycle. A segment has whole cycles, so any task
can make any segment in its final place.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from broker_lite.pipeline.generate.distributions import mean_of, quantiles
from broker_lite.pipeline.generate.spec import GenerateSpec, TopicSpec

TASK_BYTES: Final = 64 << 20
_TASK_SEGMENTS_MAX: Final = 1000
_RECORD_OVERHEAD_BYTES: Final = 10
_BATCH_RECORDS_MAX: Final = 1 << 20


class SegmentShape(NamedTuple):
    """One segment of a partition; offsets are relative to the partition's first new record."""

    number: int
    first_batch: int
    end_batch: int
    base_offset: int
    is_last: bool


class PartitionShape(NamedTuple):
    """How the records of a partition are divided into batches, cycles and segments.

    Attributes:
        lanes: how many producers take turns; 1 without producers.
        cycle_batches: after how many batches markers follow; 0 without transactions.
    """

    record_count: int
    record_bytes: float
    batch_records: int
    lanes: int
    cycle_batches: int
    segment_batches: int

    @property
    def batch_count(self) -> int:
        """Number of batches."""
        return -(-self.record_count // self.batch_records)

    @property
    def segment_count(self) -> int:
        """Number of segments."""
        return -(-self.batch_count // self.segment_batches)

    @property
    def segment_bytes(self) -> float:
        """Approximate size of a full segment before compression."""
        return min(self.segment_batches * self.batch_records, self.record_count) * self.record_bytes

    def records_of(self, batch: int) -> tuple[int, int]:
        """Return the number of a batch's first record, and how many records it has."""
        first = batch * self.batch_records
        return first, min(self.batch_records, self.record_count - first)

    def segment(self, number: int) -> SegmentShape:
        """Compute a segment's shape."""
        first_batch = number * self.segment_batches
        end_batch = min(first_batch + self.segment_batches, self.batch_count)
        cycles = first_batch // self.cycle_batches if self.cycle_batches else 0
        base_offset = first_batch * self.batch_records + cycles * self.lanes
        return SegmentShape(
            number, first_batch, end_batch, base_offset, number == self.segment_count - 1
        )

    def markers_after(self, batch: int) -> range:
        """Return the lanes whose transactions end behind a batch."""
        if not self.cycle_batches:
            return range(0)
        in_cycle = batch % self.cycle_batches + 1
        if in_cycle < self.cycle_batches and batch + 1 < self.batch_count:
            return range(0)
        return range(min(self.lanes, in_cycle))


class Piece(NamedTuple):
    """A run of segments of one partition, as part of a task."""

    topic: int
    partition: int
    first_segment: int
    end_segment: int


def shape_of(topic: TopicSpec, partition: int) -> PartitionShape:
    """Compute the shape of a partition."""
    content_bytes = mean_of(quantiles(topic.key_bytes)) * (1 - topic.null_keys)
    content_bytes += mean_of(quantiles(topic.value_bytes)) * (1 - topic.null_values)
    records = topic.records or max(int(topic.bytes / max(content_bytes, 1)), 1)
    record_bytes = content_bytes + _RECORD_OVERHEAD_BYTES
    batch_records = min(max(int(topic.batch_bytes / record_bytes), 1), _BATCH_RECORDS_MAX)
    lanes = max(topic.producers, 1)
    cycle_batches = lanes * topic.transaction_batches
    segment_batches = max(int(topic.segment_bytes / (record_bytes * batch_records)), 1)
    if cycle_batches:
        segment_batches = max(segment_batches // cycle_batches, 1) * cycle_batches
    share, rest = divmod(records, topic.partitions)
    return PartitionShape(
        share + (partition < rest),
        record_bytes,
        batch_records,
        lanes,
        cycle_batches,
        segment_batches,
    )


def tasks_of(spec: GenerateSpec, *, task_bytes: int = TASK_BYTES) -> Iterator[tuple[Piece, ...]]:
    """Cut the work into tasks of about `task_bytes`, each with at least one segment."""
    pieces: list[Piece] = []
    size_bytes = 0.0
    for number, topic in enumerate(spec.topics):
        for partition in range(topic.partitions):
            shape = shape_of(topic, partition)
            step = max(int(task_bytes / max(shape.segment_bytes, 1)), 1)
            step = min(step, _TASK_SEGMENTS_MAX)
            for first in range(0, shape.segment_count, step):
                end = min(first + step, shape.segment_count)
                pieces.append(Piece(number, partition, first, end))
                size_bytes += (end - first) * shape.segment_bytes
                if size_bytes >= task_bytes or len(pieces) >= _TASK_SEGMENTS_MAX:
                    yield tuple(pieces)
                    pieces, size_bytes = [], 0.0
    if pieces:
        yield tuple(pieces)
