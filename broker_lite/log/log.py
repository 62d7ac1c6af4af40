"""The log of one partition: it takes batches, rolls, and moves its start.

A Log consists of parts: the segments; the flusher, which makes them durable; the visibility, which
knows how far readers see; the leader epochs with their file; the producers.

The high watermark is the log end offset, unless records are held back until they are flushed or
replicated. One thread uses a Log; only its flusher may run in other threads at the same time.
"""

import logging
import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from broker_lite.errors import KafkaStorageError, OffsetOutOfRange, PolicyViolation
from broker_lite.log.config import LogConfig
from broker_lite.log.discarding import header_only
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.files.txn_index import AbortedTransaction
from broker_lite.log.flusher import Flusher
from broker_lite.log.parts import LogParts
from broker_lite.log.producers.entry import AppendOrigin
from broker_lite.log.roll import should_roll
from broker_lite.log.validate.refusals import larger_than_segment
from broker_lite.log.validate.validated import ValidatedRecords
from broker_lite.log.visibility import Visibility
from broker_lite.record.batch import LOG_OVERHEAD, RecordBatch
from broker_lite.record.control import EndTransactionMarker, end_transaction_batch

logger = logging.getLogger("broker_lite.log")

# a NamedTuple's own constructor is a Python function and takes 100 ns more
_make: Final = tuple.__new__

CLIENT: Final = AppendOrigin.CLIENT
COORDINATOR: Final = AppendOrigin.COORDINATOR
REPLICATION: Final = AppendOrigin.REPLICATION
HIGH_WATERMARK: Final = -1
NO_LEADER: Final = -1
# Base offset, length, leader epoch: the checksum does not cover them.
_STAMP: Final = struct.Struct(">qii").pack_into


class AppendInfo(NamedTuple):
    """Where a batch was written; for a duplicate, where it was written before.

    log_append_time_ms is -1 with CreateTime. For a duplicate it is the batch's max timestamp.

    See: V-14 (LogAppendInfo).
    """

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int
    duplicate: bool


class Log:
    """The log of one partition; loading.load_log or loading.new_log makes it.

    Attributes:
        config: changed by update_config() only.
        epochs: every leader epoch with its start offset.
        leader_epoch: stamped into every batch; changed by become_leader() only.
        leader_id: the broker whose clients may append; kept here because each request asks for it.
        lacks_replicas: fewer replicas are in sync than min.insync.replicas says; kept here, too.
        is_failing: the last append failed on the disk; the caller of append() keeps this, to log
            such a failure once.
    """

    __slots__ = (
        "_epoch_file",
        "_first_use",
        "_is_unsettled",
        "config",
        "directory",
        "epochs",
        "flusher",
        "is_failing",
        "lacks_replicas",
        "leader_epoch",
        "leader_id",
        "log_end_offset",
        "log_start_offset",
        "partition",
        "producer_state",
        "segments",
        "topic",
        "visibility",
    )

    def __init__(self, parts: LogParts, first_use: "Callable[[Log], None] | None" = None) -> None:
        """Put the parts together.

        Args:
            parts: what loading found.
            first_use: given for a log without files. It is called before the first file is made,
                and may refuse that by raising KafkaStorageError.
        """
        self.topic = parts.topic
        self.partition = parts.partition
        self.directory = parts.segments.directory
        self.config = parts.config
        self.segments = parts.segments
        self.epochs = parts.epochs
        self.leader_epoch = max(parts.epochs.latest_epoch, 0)
        self.leader_id = NO_LEADER
        self.producer_state = parts.producer_state
        self.log_start_offset = parts.log_start_offset
        self.log_end_offset = parts.log_end_offset
        self.flusher = Flusher(parts)
        self.visibility = Visibility(parts, self.flusher)
        self.is_failing = False
        self.lacks_replicas = False
        self._epoch_file = parts.epoch_file
        self._first_use = first_use
        # Whether the next batch has to wait for a file, or must not be written at all.
        self._is_unsettled = first_use is not None

    @property
    def high_watermark(self) -> int:
        """The offset that readers may not reach."""
        return self.visibility.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """The offset that readers of committed records may not reach.

        See: V-64 (UnifiedLog.lastStableOffset).
        """
        stable = self.producer_state.last_stable_offset(self.visibility.high_watermark)
        return max(stable, self.log_start_offset)

    # -- appending

    def append(
        self,
        records: ValidatedRecords,
        *,
        now_ms: int,
        origin: AppendOrigin = CLIENT,
        verification_enabled: bool = False,
        verification_guard: object | None = None,
    ) -> AppendInfo:
        """Stamp offsets and leader epoch into one validated batch, and write it with one call.

        Args:
            records: from the validator; the stamp changes the buffer.
            now_ms: decides when a segment without timestamps rolls.
            origin: decides which checks of the producer are made.
            verification_enabled: see ProducerStateManager.check.
            verification_guard: see ProducerStateManager.check.

        Raises:
            RecordListTooLarge: the batch is larger than segment.bytes.
            OutOfOrderSequenceNumber: there is a gap, or an epoch begins with a wrong sequence.
            InvalidProducerEpoch: the epoch is older than the known one.
            InvalidTxnState: the transaction is not verified; or a plain batch comes inside an open
                transaction.
            KafkaStorageError: the batch is not written; the log is as before, and may work again
                later. With flush.messages the batch may be written, but maybe not to the disk.

        Rule: V-51 to V-53 (UnifiedLog.append).
        See: V-54 to V-59.
        """
        config = self.config
        if config.headers_only_up_to is not None:
            records = header_only(records, config.headers_only_up_to)
        buffer, batch, _, max_timestamp, append_time_ms = records
        size_bytes = len(buffer)
        base_offset = self.log_end_offset
        last_offset = base_offset + batch.last_offset_delta
        if self._is_unsettled or self.flusher.offline_reason is not None:
            self._settle()
        if size_bytes > config.segment_bytes:
            raise larger_than_segment(size_bytes, config.segment_bytes)
        segment = self.segments.active
        if should_roll(segment, config, size_bytes, last_offset, max_timestamp, now_ms):
            segment = self.roll(now_ms)
        has_producer = batch.producer_id >= 0
        if has_producer:
            duplicate = self.producer_state.check(
                batch,
                origin,
                verification_enabled=verification_enabled,
                verification_guard=verification_guard,
            )
            if duplicate is not None:
                if duplicate[1] >= self.visibility.high_watermark:  # written, but not yet flushed
                    self.visibility.show_or_hold(base_offset)
                return AppendInfo(*duplicate, self.log_start_offset, True)
        _STAMP(buffer, 0, base_offset, size_bytes - LOG_OVERHEAD, self.leader_epoch)
        segment.append(buffer, base_offset, last_offset, max_timestamp, config.index_interval_bytes)
        self.log_end_offset = end_offset = last_offset + 1
        if has_producer:
            self.producer_state.apply(batch, base_offset)
        self.visibility.show_or_hold(end_offset)
        return _make(
            AppendInfo, (base_offset, last_offset, append_time_ms, self.log_start_offset, False)
        )

    def append_batch(
        self, batch: bytes | bytearray, *, now_ms: int, origin: AppendOrigin = REPLICATION
    ) -> AppendInfo:
        """Append one batch that this node made; its content is trusted.

        Args:
            batch: a whole v2 batch; a bytearray is stamped in place, bytes are copied.
            now_ms: as in append().
            origin: COORDINATOR for the records of a coordinator, which may be transactional.

        Raises:
            BrokerError: as append().
        """
        view = memoryview(batch if isinstance(batch, bytearray) else bytearray(batch))
        header = RecordBatch(view, 0, len(view))
        ready = ValidatedRecords(view, header, header.record_count, header.max_timestamp, -1)
        return self.append(ready, now_ms=now_ms, origin=origin)

    def append_control(
        self,
        producer_id: int,
        producer_epoch: int,
        marker: EndTransactionMarker,
        *,
        now_ms: int,
        transaction_version: int = 0,
    ) -> int:
        """Write the marker that ends a transaction.

        Returns:
            The offset of the marker.

        Raises:
            InvalidProducerEpoch: the epoch is below the known one.
            TransactionCoordinatorFenced: the coordinator epoch is below the known one.
            KafkaStorageError: as append(); a second try may write the marker again.

        See: V-62 (UnifiedLog.appendAsLeader, AppendOrigin.COORDINATOR).
        """
        state = self.producer_state
        state.check_marker(
            producer_id,
            producer_epoch,
            marker.coordinator_epoch,
            transaction_version=transaction_version,
        )
        batch = end_transaction_batch(producer_id, producer_epoch, marker, timestamp=now_ms)
        if self.config.is_append_time:
            RecordBatch(memoryview(batch), 0, len(batch)).set_max_timestamp(True, now_ms)
        size_bytes, offset = len(batch), self.log_end_offset
        if self._is_unsettled or self.flusher.offline_reason is not None:
            self._settle()
        segment = self.segments.active
        if should_roll(segment, self.config, size_bytes, offset, now_ms, now_ms):
            segment = self.roll(now_ms)
        _STAMP(batch, 0, offset, size_bytes - LOG_OVERHEAD, self.leader_epoch)
        segment.append(batch, offset, offset, now_ms, self.config.index_interval_bytes)
        self.log_end_offset = offset + 1
        completed = state.apply_marker(
            producer_id, producer_epoch, marker, offset=offset, timestamp_ms=now_ms
        )
        if completed is not None and completed.is_aborted:
            stable = state.last_stable_offset_after(completed)
            segment.transaction_index.append(
                AbortedTransaction(producer_id, completed.first_offset, offset, stable)
            )
        self.visibility.show_or_hold(offset + 1)
        return offset

    # -- changes

    def update_config(self, config: LogConfig) -> None:
        """Take new settings; they hold from the next append on."""
        self.config = config
        self.visibility.set_flush_messages(config.flush_messages)

    def become_leader(self, leader_epoch: int) -> None:
        """Begin a leader epoch at the log end offset; an epoch below the newest is ignored.

        Raises:
            KafkaStorageError: the epoch has begun, but its file is not written yet.

        See: S-61, S-63 (UnifiedLog.assignEpochStartOffset).
        """
        self.leader_epoch = max(leader_epoch, self.epochs.latest_epoch)
        if self.epochs.assign(self.leader_epoch, self.log_end_offset) and self._first_use is None:
            self._is_unsettled = True
            self._settle()

    def delete_records_before(self, offset: int) -> int:
        """Move the log start offset forward; retention removes the files later.

        Args:
            offset: where the log is to start; HIGH_WATERMARK (-1) stands for the high watermark.

        Returns:
            The log start offset.

        Raises:
            PolicyViolation: cleanup.policy is without delete.
            OffsetOutOfRange: the offset is below -1 or above the high watermark.
            KafkaStorageError: the log is offline or deleted; or the leader epochs' file is not
                written.

        Rule: S-53 (Partition.deleteRecordsOnLeader).
        See: F-90.
        """
        if not self.config.cleanup_delete:
            raise PolicyViolation
        self.flusher.check_online()
        high_watermark = self.visibility.high_watermark
        target = high_watermark if offset == HIGH_WATERMARK else offset
        if not 0 <= target <= high_watermark:
            raise OffsetOutOfRange
        self.advance_start(target)
        if self._epoch_file.is_stale:
            self._settle()
        return self.log_start_offset

    def advance_start(self, offset: int) -> None:
        """Move the log start offset forward, unless it is there already; wake the readers.

        The leader epochs' file is written at the next roll or at the end: that takes up to 5 ms on
        a busy disk, and retention moves the start of many logs at once.

        Rule: S-53 (UnifiedLog.maybeIncrementLogStartOffset).
        See: S-52, S-65.
        """
        if offset <= self.log_start_offset:
            return
        self.log_start_offset = offset
        if self.epochs.truncate_from_start(offset):
            self._epoch_file.is_stale = True
        self.visibility.wake()

    # -- files

    def _settle(self) -> None:
        """Write the files that the next batch needs: the leader epochs, and a new log's segment.

        Raises:
            KafkaStorageError: a file is not written, and the next batch tries again; or the log is
                offline or deleted.
        """
        self.flusher.check_online()
        directory = self.segments.writable_directory()
        if self._first_use is not None:
            self._first_use(self)
            try:
                self.segments.active.create()
            except OSError as error:
                raise KafkaStorageError from error
            self._first_use = None
        if self._is_unsettled or self._epoch_file.is_stale:
            self._epoch_file.save(directory)
            self._is_unsettled = False

    def roll(self, now_ms: int) -> LogSegment:
        """Begin a new segment at the log end offset; it replaces an empty one of that base offset.

        Raises:
            KafkaStorageError: the old segment is still active.

        See: S-31 (UnifiedLog.roll).
        """
        self._settle()
        segment = self.segments.roll(self.log_end_offset, self.producer_state, self.config, now_ms)
        logger.debug("segment rolled topic=%s partition=%d", self.topic, self.partition)
        return segment

    def flush(self, offset: int | None = None) -> None:
        """Make everything below an offset durable, by default everything."""
        self.flusher.flush(self.log_end_offset if offset is None else offset)

    def close(self) -> None:
        """Bring the files into the state of a clean stop; the caller flushes after that.

        Raises:
            KafkaStorageError: the next start has to recover the log.

        See: S-47 (UnifiedLog.close).
        """
        if self._first_use is not None:
            return  # nothing was ever written
        self._settle()
        self.segments.close(self.log_end_offset, self.producer_state)

    @property
    def is_deleted(self) -> bool:
        """Whether the topic is gone; a new topic of that name may have the directory."""
        return self.segments.is_deleted

    def delete(self) -> None:
        """Refuse every further use, and wake the readers; the manager removes the files."""
        self.segments.delete()
        self._is_unsettled = True
        self.visibility.wake()
