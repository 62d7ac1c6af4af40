"""Recovering a segment after an unclean stop: what is whole stays, the rest is cut off.

The walk checks each batch's checksum, rebuilds the indexes, and feeds leader epochs and producer
state, just as the appends did (S-43).
"""

import logging
from collections.abc import Iterator
from typing import Final

from broker_lite.errors import CorruptMessage, KafkaStorageError
from broker_lite.log.config import LogConfig
from broker_lite.log.leader_epochs import LeaderEpochCache
from broker_lite.log.producer_state import ProducerStateManager
from broker_lite.log.roll import RELATIVE_OFFSET_MAX
from broker_lite.log.segment import LogSegment
from broker_lite.log.txn_index import AbortedTransaction
from broker_lite.log.walk import FRAME_MIN, MAGIC_V2, checked_size
from broker_lite.record.batch import RECORD_BATCH_OVERHEAD, RecordBatch

logger = logging.getLogger("broker_lite.log")

_CHUNK_BYTES: Final = 1 << 20
_MAGIC_POSITION: Final = 16


def recover_segment(
    segment: LogSegment,
    config: LogConfig,
    epochs: LeaderEpochCache,
    producer_state: ProducerStateManager,
) -> tuple[int, int]:
    """Rebuild a segment's indexes and cut its file behind the last whole, valid batch.

    Args:
        segment: its indexes are in memory afterwards, the closing time entry not yet made.
        config: for index.interval.bytes.
        epochs: gets the epochs of the batches.
        producer_state: as of the segment's base offset; replayed to its end.

    Returns:
        The offset after the last batch (the base offset if there is none), and how many bytes
        were cut off.

    Raises:
        KafkaStorageError: a batch of an old format, which is left alone.
        OSError: a file cannot be read or written.

    Rule: S-43 (LogSegment.recover).
    """
    try:
        end_offset, valid_bytes = _rebuild(segment, config, epochs, producer_state)
    except ValueError as error:  # offsets do not rise: nothing of it is usable
        logger.warning("segment emptied path=%s reason=%s", segment.path, error)
        segment.reset_indexes()
        end_offset, valid_bytes = segment.base_offset, 0
    cut_bytes = segment.size_bytes - valid_bytes
    if cut_bytes:
        logger.warning("segment cut path=%s bytes=%d", segment.path, cut_bytes)
        segment.file().cut(valid_bytes)
        segment.size_bytes = valid_bytes
    return end_offset, cut_bytes


def _rebuild(
    segment: LogSegment,
    config: LogConfig,
    epochs: LeaderEpochCache,
    producer_state: ProducerStateManager,
) -> tuple[int, int]:
    segment.reset_indexes()
    end_offset = segment.base_offset
    position = indexed_position = 0
    for batch in read_batches(segment, 0):
        last_offset = batch.last_offset
        if last_offset < end_offset:
            raise ValueError(f"offset {last_offset} at position {position} is not above the last")
        if last_offset - segment.base_offset > RELATIVE_OFFSET_MAX:
            break
        segment.note_timestamp(position, batch.max_timestamp, last_offset)
        if position - indexed_position > config.index_interval_bytes:
            segment.offset_index.append(last_offset - segment.base_offset, position)
            segment.close_time_index()
            indexed_position = position
        if batch.leader_epoch > epochs.latest_epoch:
            epochs.assign(batch.leader_epoch, batch.base_offset)
        replay(batch, producer_state, segment)
        position += batch.size_bytes
        end_offset = last_offset + 1
    return end_offset, position


def replay(
    batch: RecordBatch, producer_state: ProducerStateManager, segment: LogSegment | None
) -> None:
    """Feed a batch to the producer state, and an aborted transaction to the segment's index.

    Rule: S-43, S-45 (LogSegment.updateProducerState).
    """
    completed = producer_state.replay(batch)
    if completed is None:
        return
    if completed.is_aborted and segment is not None:
        stable = producer_state.last_stable_offset_after(completed)
        segment.transaction_index.append(
            AbortedTransaction(
                completed.producer_id, completed.first_offset, completed.last_offset, stable
            )
        )
    producer_state.high_watermark_moved(completed.last_offset + 1)


def read_batches(segment: LogSegment, position: int) -> Iterator[RecordBatch]:
    """Read the whole, valid batches from a position on; stop before the first that is not.

    A batch is valid only until the next one is asked for.

    Raises:
        KafkaStorageError: a batch of an old format.
        OSError: the file cannot be read.

    Rule: R-04, R-06 (FileLogInputStream, DefaultRecordBatch.isValid).
    """
    file, end = segment.file(), segment.size_bytes
    chunk, chunk_position = memoryview(b""), position
    while position < end - FRAME_MIN:
        if position - chunk_position + FRAME_MIN > len(chunk):
            chunk, chunk_position = memoryview(file.read(_CHUNK_BYTES, position)), position
        start = position - chunk_position
        size_bytes = _size_of_valid(chunk, start, position, end)
        if size_bytes == 0:
            return
        if start + size_bytes > len(chunk):
            chunk = memoryview(file.read(max(size_bytes, _CHUNK_BYTES), position))
            chunk_position, start = position, 0
        batch = RecordBatch(chunk, start, size_bytes)
        if not batch.crc_is_valid():
            return
        yield batch
        position += size_bytes


def _size_of_valid(chunk: memoryview, start: int, position: int, end: int) -> int:
    """Give the size of the batch at start of a chunk, 0 when it cannot be a whole v2 batch."""
    try:
        size_bytes = checked_size(
            int.from_bytes(chunk[start + 8 : start + 12], "big", signed=True), position
        )
    except CorruptMessage:
        return 0
    if size_bytes > end - position:
        return 0
    if chunk[start + _MAGIC_POSITION] < MAGIC_V2:
        raise KafkaStorageError(f"a message of format {chunk[start + _MAGIC_POSITION]}")
    return size_bytes if size_bytes >= RECORD_BATCH_OVERHEAD else 0
