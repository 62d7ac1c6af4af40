"""Recovers a segment after an unclean stop: sound batches stay, the rest is cut off.

Recovery reads the segment and checks each batch's checksum. It makes the indexes, the leader epochs
and the producer state anew, as the appends did (S-43).
"""

import logging
from collections.abc import Callable, Iterator

from broker_lite.errors import KafkaStorageError
from broker_lite.log.config import LogConfig
from broker_lite.log.files.batch_reader import read_valid, tell_nobody
from broker_lite.log.files.leader_epochs import LeaderEpochCache
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.files.txn_index import AbortedTransaction
from broker_lite.log.producers.state import ProducerStateManager
from broker_lite.log.recovery.cut_off import count_sound
from broker_lite.record.batch import RecordBatch

logger = logging.getLogger("broker_lite.log")


def recover_segment(
    segment: LogSegment,
    config: LogConfig,
    epochs: LeaderEpochCache,
    producer_state: ProducerStateManager,
    *,
    limit: int | None = None,
    tell: Callable[[int], None] = tell_nobody,
) -> tuple[int, int]:
    """Make a segment's indexes anew, and cut its file behind the last whole, valid batch.

    Args:
        segment: to recover; its indexes are in memory afterwards.
        config: for index.interval.bytes.
        epochs: get the epochs of the batches.
        producer_state: as of the segment's base offset; it is as of the end afterwards.
        limit: see read_valid.
        tell: see read_valid.

    Returns:
        The offset after the last batch (the base offset if there is none), and how many bytes were
        cut off.

    Raises:
        OSError: a file cannot be read or written.

    Rule: S-43 (LogSegment.recover).
    """
    segment.reset_indexes()
    end_offset = segment.base_offset
    position = indexed_position = 0
    for batch in read_valid(segment, limit=limit, tell=tell):
        last_offset = batch.last_offset
        timestamp = batch.max_timestamp if isinstance(batch, RecordBatch) else batch.timestamp
        segment.note_timestamp(position, timestamp, last_offset)
        if position - indexed_position > config.index_interval_bytes:
            segment.offset_index.append(last_offset - segment.base_offset, position)
            segment.close_time_index()
            indexed_position = position
        if isinstance(batch, RecordBatch):
            if batch.leader_epoch > epochs.latest_epoch:
                epochs.assign(batch.leader_epoch, batch.base_offset)
            replay(batch, producer_state, segment)
        position += batch.size_bytes
        end_offset = last_offset + 1
    segment.close_time_index()
    cut_bytes = segment.size_bytes - position
    if cut_bytes:
        logger.warning(
            "segment cut path=%s position=%d bytes=%d end_offset=%d sound_batches_cut=%d",
            segment.path,
            position,
            cut_bytes,
            end_offset,
            count_sound(segment.file(), position, segment.size_bytes, end_offset),
        )
        segment.file().cut(position)
        segment.size_bytes = position
    return end_offset, cut_bytes


def replay(
    batch: RecordBatch, producer_state: ProducerStateManager, segment: LogSegment | None
) -> None:
    """Note a batch in the producer state, and an aborted transaction in the segment's index.

    Rule: S-43 (LogSegment.updateProducerState).
    See: S-45.
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
    """Read batches as read_valid does; for logs that may hold v2 batches only.

    Raises:
        KafkaStorageError: there is a message of an old format.
        OSError: the file cannot be read.

    See: R-02, R-04, R-06.
    """
    for batch in read_valid(segment, position):
        if not isinstance(batch, RecordBatch):
            raise KafkaStorageError(f"a message of format {batch.magic}")
        yield batch
