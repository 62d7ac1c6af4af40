"""The log of one partition: append, read, roll, and what changes when its start moves.

A Log is made of parts: its segments, the flusher that makes them durable, what readers see of them
(visibility), the leader epochs with their file, and the producers.

One node, one replica: the high watermark is the log end offset, unless records are held back until
they are flushed. A Log is used by one thread; only the flusher may run in other threads beside it.
Times come in as now_ms.
"""

import logging
import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from broker_lite.errors import KafkaStorageError, OffsetOutOfRange, PolicyViolation
from broker_lite.log.config import LogConfig
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
# base offset, length, leader epoch: what the checksum does not cover.
_STAMP: Final = struct.Struct(">qii")


class AppendInfo(NamedTuple):
    """Where records were written, or, as a duplicate, where they are already.

    log_append_time_ms is -1 with CreateTime; of a duplicate it is its batch's max timestamp.

    See: V-14 (LogAppendInfo).
    """

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int
    duplicate: bool


class Log:
    """The log of one partition, made by loading.load_log or loading.new_log.

    Attributes:
        config: changed by update_config() only.
        epochs: every leader epoch with its start offset.
        leader_epoch: stamped into every batch; changed by become_leader() only.
        leader_id: the broker whose clients may append. The log does not care: it is kept here
            because each request asks for it.
        lacks_replicas: fewer replicas are in sync than min.insync.replicas says; kept here for the
            same reason.
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

    # -- offsets

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
        """Give one validated batch its offsets, in place, and write it with one system call.

        Args:
            records: of the validator; its buffer is written to (offset, leader epoch).
            now_ms: only for rolling a segment without timestamps.
            origin: decides what of the producer is checked.
            verification_enabled: see ProducerStateManager.check.
            verification_guard: see ProducerStateManager.check.

        Raises:
            RecordListTooLarge: larger than segment.bytes.
            OutOfOrderSequenceNumber: a gap, or a wrong first sequence of an epoch.
            InvalidProducerEpoch: an older epoch.
            InvalidTxnState: not verified, or plain inside an open transaction.
            KafkaStorageError: not written; the log is as before, and may work again later. With
                flush.messages it may also be written, but not known to be on disk.

        Rule: V-51 to V-53 (UnifiedLog.append).
        See: V-54 to V-59.
        """
        buffer, batch, _, max_timestamp, append_time_ms = records
        size_bytes = len(buffer)
        base_offset = self.log_end_offset
        last_offset = base_offset + batch.last_offset_delta
        config = self.config
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
        _STAMP.pack_into(buffer, 0, base_offset, size_bytes - LOG_OVERHEAD, self.leader_epoch)
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
        """Append one batch made by this node: its offsets are given, its content is trusted.

        Args:
            batch: a whole v2 batch; a bytearray is stamped in place, bytes are copied.
            now_ms: as in append.
            origin: COORDINATOR for the records of a coordinator, which may be transactional.

        Raises:
            BrokerError: as append.
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
        """Write the marker that ends a transaction, and give its offset.

        Raises:
            InvalidProducerEpoch: the epoch is below the known one.
            TransactionCoordinatorFenced: the coordinator epoch is below the known one.
            KafkaStorageError: as in append; it may be written twice then.

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
        _STAMP.pack_into(batch, 0, offset, size_bytes - LOG_OVERHEAD, self.leader_epoch)
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
        """Take new settings; they count from the next append on."""
        self.config = config
        self.visibility.set_flush_messages(config.flush_messages)

    def become_leader(self, leader_epoch: int) -> None:
        """Begin a leader epoch at the log end offset; an epoch below the newest is not taken.

        Raises:
            KafkaStorageError: the epoch counts, but its file is not written yet.

        See: S-61, S-63 (UnifiedLog.assignEpochStartOffset).
        """
        self.leader_epoch = max(leader_epoch, self.epochs.latest_epoch)
        if self.epochs.assign(self.leader_epoch, self.log_end_offset) and self._first_use is None:
            self._is_unsettled = True
            self._settle()

    def delete_records_before(self, offset: int) -> int:
        """Move the log start offset forward, to HIGH_WATERMARK (-1) or an offset; give the new one.

        The files stay until retention removes whole segments.

        Raises:
            PolicyViolation: cleanup.policy is without delete.
            OffsetOutOfRange: below -1 or above the high watermark.
            KafkaStorageError: the log is offline.

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
        """Move the log start offset forward, if it is below an offset, with all that follows it.

        The leader epochs' file follows at the next roll or at the end: to replace a file takes up
        to 5 ms on a disk that is busy, and retention moves the start of many logs at once.

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
        """Write what has to be there before the next batch; for a new log, also its first segment.

        Raises:
            KafkaStorageError: something is still missing, and the next batch tries again; or the
                log is offline or deleted.
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
        """Begin a new segment at the log end offset; an empty active one of that base is replaced.

        Raises:
            KafkaStorageError: the old segment is still the active one.

        See: S-31 (UnifiedLog.roll).
        """
        self._settle()
        segment = self.segments.roll(self.log_end_offset, self.producer_state, self.config, now_ms)
        logger.debug("segment rolled topic=%s partition=%d", self.topic, self.partition)
        return segment

    def flush(self, offset: int | None = None) -> None:
        """Make everything below an offset durable, by default the whole log; as Flusher.flush."""
        self.flusher.flush(self.log_end_offset if offset is None else offset)

    def close(self) -> None:
        """Put the log down so that it can be loaded as after a clean stop; flush() comes after it.

        Raises:
            KafkaStorageError: recovery is needed.

        See: S-47 (UnifiedLog.close).
        """
        if self._first_use is not None:
            return  # nothing was ever written
        self._settle()
        self.segments.close(self.log_end_offset, self.producer_state)

    @property
    def is_deleted(self) -> bool:
        """Whether the topic is gone; its files' names may belong to a new topic."""
        return self.segments.is_deleted

    def delete(self) -> None:
        """Refuse every further use, and tell readers that wait; the manager removes the files."""
        self.segments.delete()
        self._is_unsettled = True
        self.visibility.wake()
