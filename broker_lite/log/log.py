"""The log of one partition: append, read, roll, and what changes when its start moves.

One node, one replica: the high watermark is the log end offset, or in front of records that are to
be flushed first (durable_log.py). A Log is used by one thread; only flush() may run in another one
beside it. Times come in as now_ms.
"""

import struct
from typing import Final, NamedTuple

from broker_lite.errors import (
    OffsetOutOfRange,
    PolicyViolation,
)
from broker_lite.log import timestamps
from broker_lite.log.durable_log import DurableLog
from broker_lite.log.files.leader_epochs import EpochEndOffset
from broker_lite.log.files.names import DELETED_SUFFIX
from broker_lite.log.files.txn_index import AbortedTransaction
from broker_lite.log.producers.entry import AppendOrigin
from broker_lite.log.read import LogRead, read_log
from broker_lite.log.roll import should_roll
from broker_lite.log.validate.refusals import larger_than_segment
from broker_lite.log.validate.validated import ValidatedRecords
from broker_lite.record.batch import LOG_OVERHEAD, RecordBatch
from broker_lite.record.control import EndTransactionMarker, end_transaction_batch

# a NamedTuple's own constructor is a Python function and takes 100 ns more
_make: Final = tuple.__new__

CLIENT: Final = AppendOrigin.CLIENT
COORDINATOR: Final = AppendOrigin.COORDINATOR
REPLICATION: Final = AppendOrigin.REPLICATION
HIGH_WATERMARK: Final = -1
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


class Log(DurableLog):
    """What producers and consumers see of a partition, made by loading.load_log."""

    __slots__ = ()

    # -- offsets

    def offset_for_leader_epoch(self, epoch: int) -> EpochEndOffset:
        """Give the end offset of the largest epoch that is not above the given one.

        See: S-64, F-81 (UnifiedLog.endOffsetForEpoch).
        """
        return self.epochs.end_offset_for(epoch, self.log_end_offset)

    def offset_for_timestamp(
        self, timestamp: int, *, from_offset: int = 0, at_once: bool = False
    ) -> timestamps.TimestampOffset | None:
        """Find the first record that is not older than a timestamp (at least 0).

        Raises:
            KafkaStorageError: a file cannot be read.
            HeavyBatch: at_once, and a batch takes long.

        See: S-23, F-72 (UnifiedLog.fetchOffsetByTimestamp).
        """
        return timestamps.offset_for_timestamp(
            self, timestamp, from_offset=from_offset, at_once=at_once
        )

    def max_timestamp_offset(
        self, *, from_offset: int = 0, at_once: bool = False
    ) -> timestamps.TimestampOffset | None:
        """Find the record with the largest timestamp, also one below the log start offset.

        Raises:
            KafkaStorageError: a file cannot be read.
            HeavyBatch: at_once, and a batch takes long.

        See: S-24 (UnifiedLog.fetchOffsetByTimestamp).
        """
        return timestamps.max_timestamp_offset(self, from_offset=from_offset, at_once=at_once)

    def offsets_before(self, timestamp: int, max_offsets: int, *, now_ms: int) -> list[int]:
        """Answer ListOffsets version 0: descending offsets of segments not younger than that.

        See: F-74 (UnifiedLog.legacyFetchOffsetsBefore).
        """
        return timestamps.offsets_before(self, timestamp, max_offsets, now_ms)

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
        if self._is_unsettled:
            self._settle()
        if size_bytes > config.segment_bytes:
            raise larger_than_segment(size_bytes, config.segment_bytes)
        segment = self.active
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
                if duplicate[1] >= self.high_watermark:  # there, but not on disk as it has to be
                    self._commit()
                return AppendInfo(*duplicate, self.log_start_offset, True)
        _STAMP.pack_into(buffer, 0, base_offset, size_bytes - LOG_OVERHEAD, self.leader_epoch)
        segment.append(buffer, base_offset, last_offset, max_timestamp, config.index_interval_bytes)
        self.log_end_offset = end_offset = last_offset + 1
        if has_producer:
            self.producer_state.apply(batch, base_offset)
        if end_offset >= self.flush_at:
            self._commit()
        else:
            self.high_watermark = end_offset
            if self._waiters:
                self._wake()
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
        if self._is_unsettled:
            self._settle()
        segment = self.active
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
        if self.log_end_offset >= self.flush_at:
            self._commit()
        else:
            self._show(self.log_end_offset)
        return offset

    # -- reading

    def read(
        self,
        offset: int,
        *,
        max_bytes: int,
        isolation_level: int = 0,
        min_one_batch: bool = True,
    ) -> LogRead:
        """Find the bytes that a fetch from an offset gets.

        Args:
            offset: of the first record that is wanted; its batch is given from its start.
            max_bytes: at least 0; the range may end inside a batch.
            isolation_level: 1 for committed records only.
            min_one_batch: the first batch is given even if it is larger than max_bytes.

        Raises:
            OffsetOutOfRange: below the log start offset or above the log end offset.
            UnknownServerError: max_bytes is negative.
            KafkaStorageError: a file cannot be read.

        See: F-05, F-10 to F-14, S-20 to S-22 (UnifiedLog.read).
        """
        return read_log(self, offset, max_bytes, isolation_level, min_one_batch)

    # -- changes

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
        if self.offline_reason is not None:
            raise self._offline_error()
        target = self.high_watermark if offset == HIGH_WATERMARK else offset
        if not 0 <= target <= self.high_watermark:
            raise OffsetOutOfRange
        self.advance_start(target)
        if self._are_epochs_ahead:
            self._save_epochs()
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
            self._are_epochs_ahead = True
        self._wake()

    def delete(self) -> None:
        """Tell whoever waits that the log is gone; the manager removes the files."""
        for segment in self.segments:
            segment.mark_deleted()
        # A topic of the same name may get the directory; who still holds this log must not roll it.
        self.directory += DELETED_SUFFIX
        self._wake()
