"""Writes records to logs like those of a client: validates, then appends them.

Records wait until a batch of their partition is full. Only empty topics get the records of a seed,
so that a restart on a volume does not write them twice.
"""

import logging
from collections.abc import Callable, Iterator
from typing import Final

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.metadata.topic import Topic
from broker_lite.errors import BrokerError, KafkaStorageError, SettingsError
from broker_lite.log.validate.produced_batch import validate_records
from broker_lite.log.validate.rejected import RejectedRecords
from broker_lite.record.batch import MAX_RECORD_OVERHEAD
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.murmur2 import partition_of_key
from broker_lite.seed.fields import SeedRecord
from broker_lite.seed.marker import Marker

BATCH_RECORDS_MAX: Final = 1000
BATCH_BYTES_MAX: Final = 1_000_000
WAITING_BYTES_MAX: Final = 16 * 1024 * 1024
_HEADER_OVERHEAD: Final = 2 * 5  # two lengths

_log = logging.getLogger("broker_lite.seed")


class _Batch:
    """The open batch of a partition, and the lines of its records."""

    __slots__ = ("builder", "lines", "partition")

    def __init__(self, partition: int, builder: BatchBuilder) -> None:
        self.partition = partition
        self.builder = builder
        self.lines: list[int] = []


class _Target:
    """A topic to write to."""

    __slots__ = ("batches", "bytes_max", "config", "next_partition", "topic")

    def __init__(self, cluster: Cluster, topic: Topic, batch_bytes_max: int) -> None:
        config = cluster.topic_config(topic.name)
        self.topic = topic
        self.config = cluster.validation_config(topic)
        self.bytes_max = min(
            batch_bytes_max, config.max_message_bytes, config.effective_segment_bytes
        )
        self.batches: dict[int, _Batch] = {}
        self.next_partition = 0

    def partition_of(self, record: SeedRecord) -> int:
        """Return the partition that a record names, else that of its key, else the next in turn."""
        count = self.topic.partition_count
        if record.partition is not None:
            return record.partition
        if count == 1:
            return 0
        if record.key is not None:
            return partition_of_key(record.key, count)
        partition = self.next_partition
        self.next_partition = (partition + 1) % count
        return partition

    def new_batch(self, partition: int) -> _Batch:
        """Make a batch with the topic's codec, so that the validator need not recompress it."""
        config = self.config
        return _Batch(
            partition, BatchBuilder(codec=config.codec or 0, level=config.compression_level)
        )


class SeedWriter:
    """Writes the records of one seed, or of one request of the control API.

    Attributes:
        record_count: number of records, including those in open batches.
        topic_count: number of their topics.
        waiting_bytes: at most so many are in open batches.
    """

    def __init__(
        self,
        cluster: Cluster,
        clock: Clock,
        marker: Marker | None,
        error_of: Callable[[str, int], SettingsError],
        *,
        batch_bytes_max: int = BATCH_BYTES_MAX,
    ) -> None:
        """Touch nothing yet.

        Args:
            cluster: gets the records, and missing topics if it allows that.
            clock: sets the timestamp of records without one.
            marker: gets each topic before its first record; None for records that are no seed, and
                that also go to topics that have some.
            error_of: makes an error from a reason and the number of a line.
            batch_bytes_max: no batch of several records is larger before it is compressed.
        """
        self.record_count = 0
        self.topic_count = 0
        self._cluster = cluster
        self._clock = clock
        self._marker = marker
        self._error_of = error_of
        self._batch_bytes_max = batch_bytes_max
        self._targets: dict[str, _Target | None] = {}
        self.waiting_bytes = 0

    def add(self, record: SeedRecord) -> None:
        """Add a record; flush() writes it at the latest.

        Raises:
            SettingsError: the topic or partition does not exist, or the topic refuses the record.
            KafkaStorageError: the log cannot be written.
        """
        if record.topic not in self._targets:
            self._targets[record.topic] = self._open(record)
        target = self._targets[record.topic]
        if target is None:
            return
        partition = target.partition_of(record)
        batch = target.batches.get(partition)
        size_bytes_max = _size_bytes_max(record)
        if batch is not None and (
            len(batch.lines) == BATCH_RECORDS_MAX
            or batch.builder.uncompressed_size_bytes + size_bytes_max > target.bytes_max
        ):
            self._append(target, batch)
            batch = None
        if batch is None:
            self._check_partition(target, record, partition)
            batch = target.batches[partition] = target.new_batch(partition)
        timestamp_ms = record.timestamp_ms
        if timestamp_ms is None:
            timestamp_ms = self._clock.now_ms()
        batch.builder.append(timestamp_ms, record.key, record.value, record.headers)
        batch.lines.append(record.line)
        self.record_count += 1
        self.waiting_bytes += size_bytes_max
        if self.waiting_bytes > WAITING_BYTES_MAX:
            self.flush()

    def flush(self) -> None:
        """Append all open batches.

        Raises:
            SettingsError: a topic refuses a record.
            KafkaStorageError: a log cannot be written.
        """
        for _ in self.flush_steps():
            pass

    def flush_steps(self) -> Iterator[None]:
        """Do what flush() does; stop after each batch, for a caller that lets others run then."""
        for target in self._targets.values():
            if target is not None:
                for batch in list(target.batches.values()):
                    self._append(target, batch)
                    yield
        self.waiting_bytes = 0

    def _open(self, record: SeedRecord) -> _Target | None:
        """Find or create a topic; None if it already has records."""
        try:
            topic = self._cluster.topics.get(record.topic) or self._create(record)
            logs = (self._cluster.log(topic.name, index) for index in range(topic.partition_count))
            if self._marker is not None and any(log.log_end_offset for log in logs):
                _log.info("topic not seeded, it already has records topic=%s", topic.name)
                return None
        except KafkaStorageError:
            raise
        except BrokerError as error:
            raise self._error_of(f"topic {record.topic}: {error.message}", record.line) from error
        if topic.is_internal:
            reason = f"topic {topic.name} is internal, only the broker writes to it"
            raise self._error_of(reason, record.line)
        if self._marker is not None:
            self._marker.add(topic.name)
        self.topic_count += 1
        return _Target(self._cluster, topic, self._batch_bytes_max)

    def _create(self, record: SeedRecord) -> Topic:
        if not self._cluster.settings.auto_create_topics_enable:
            reason = f"there is no topic {record.topic}, and auto.create.topics.enable is false"
            raise self._error_of(reason, record.line)
        return self._cluster.create_topic(record.topic)

    def _check_partition(self, target: _Target, record: SeedRecord, partition: int) -> None:
        count = target.topic.partition_count
        if partition >= count:
            reason = f"partition: topic {record.topic} has {count} of them, {partition} is too high"
            raise self._error_of(reason, record.line)

    def _append(self, target: _Target, batch: _Batch) -> None:
        del target.batches[batch.partition]
        now_ms = self._clock.now_ms()
        log = self._cluster.log(target.topic.name, batch.partition)
        try:
            validated = validate_records(
                memoryview(bytearray(batch.builder.build())),
                target.config,
                now_ms=now_ms,
                partition=batch.partition,
            )
            log.append(validated, now_ms=now_ms)
        except KafkaStorageError:
            raise
        except RejectedRecords as error:
            first = error.record_errors[0]
            raise self._error_of(first.message, batch.lines[first.batch_index]) from error
        except BrokerError as error:
            reason = f"topic {target.topic.name}: {error.message or error.code.name}"
            raise self._error_of(reason, batch.lines[0]) from error


def _size_bytes_max(record: SeedRecord) -> int:
    """Return the largest size that a record can have in a batch."""
    size_bytes = MAX_RECORD_OVERHEAD + len(record.key or b"") + len(record.value or b"")
    for name, value in record.headers:
        size_bytes += _HEADER_OVERHEAD + len(name) + len(value or b"")
    return size_bytes
