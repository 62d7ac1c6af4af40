"""Writes the files of a partition's new segments, staged under names that nobody reads.

The name of a staged file ends with a tag of the job and its attempt, and `.deleted`. Every broker,
Kafka's too, removes such files at its next start, and readers ignore them. So the files of a job
whose driver died need no cleaning up.

Index entries are those of a broker that appended each batch by itself, so Kafka's dump tool finds
them consistent.
"""

from typing import Final, NamedTuple

from broker_lite.log.files.index import RELATIVE_OFFSET_MAX, OffsetIndex, TimeIndex
from broker_lite.log.files.names import (
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    partition_directory,
    segment_stem,
)
from broker_lite.log.files.txn_index import ENTRY as TRANSACTION_ENTRY
from broker_lite.log.files.txn_index import VERSION as TRANSACTION_VERSION
from broker_lite.log.producers.state import ProducerStateManager
from broker_lite.pipeline.files.file_io import FileIO, WritableFile, join
from broker_lite.pipeline.write.encode import EncodedBatch
from broker_lite.record.batch import RecordBatch

SEGMENT_BYTES: Final = 1 << 30
INDEX_INTERVAL_BYTES: Final = 4096


class Placement(NamedTuple):
    """The partition of new segments, and how to cut them.

    Attributes:
        root: the log directory, a path inside its FileIO.
        tag: of the job and the attempt; unique to the attempt.
        is_relative: offsets begin at 0, and the commit shifts them.
        segment_bytes: maximum size of a segment; a larger batch gets its own segment.
    """

    root: str
    topic: str
    partition: int
    tag: str
    is_relative: bool = False
    segment_bytes: int = SEGMENT_BYTES
    index_interval_bytes: int = INDEX_INTERVAL_BYTES

    @property
    def directory(self) -> str:
        """Path of the partition's directory."""
        return join(self.root, partition_directory(self.topic, self.partition))


class StagedSegment(NamedTuple):
    """A complete segment that waits for the commit.

    Attributes:
        end_offset: the offset after its last batch.
        suffixes: of its files, that of the log last.
        producers: a snapshot of the producers of these segments, as of its end.
        epochs: the leader epochs of its batches, each with the offset where it begins.
        has_gaps: whether offsets are missing in it, or in front of it.
    """

    placement: Placement
    base_offset: int
    end_offset: int
    size_bytes: int
    record_count: int
    suffixes: tuple[str, ...]
    producers: bytes
    epochs: tuple[tuple[int, int], ...] = ()
    has_gaps: bool = False

    def staged_path(self, suffix: str) -> str:
        """Return the path of a file before the commit."""
        return staged_path(self.placement, self.base_offset, suffix)


def staged_path(placement: Placement, base_offset: int, suffix: str) -> str:
    """Return the path of a staged file.

    See: S-04, S-41 (LogLoader.removeTempFilesAndCollectSwapFiles).
    """
    stem = segment_stem(placement.directory, base_offset)
    return f"{stem}{suffix}.{placement.tag}{DELETED_SUFFIX}"


class LogWriter:
    """Writes batches of one partition, in order, into staged segments."""

    def __init__(self, io: FileIO, placement: Placement) -> None:
        self.placement = placement
        self.segments: list[StagedSegment] = []
        self._io = io
        self._open: _OpenSegment | None = None
        self._producers = ProducerStateManager()
        self._next_offset: int | None = None

    def append(self, batch: EncodedBatch) -> None:
        """Write a batch; roll a new segment if it does not fit.

        Raises:
            OSError: the batch could not be written; the writer is unusable.

        See: S-30, S-31 (LogSegment.shouldRoll, UnifiedLog.roll).
        """
        segment = self._segment_for(batch)
        segment.append(batch)
        view = RecordBatch(memoryview(batch.data), 0, len(batch.data))
        self._note_offsets(view, segment)
        if view.has_producer_id:
            self._note_producer(view, segment)

    def begin(self, base_offset: int) -> "_OpenSegment":
        """Begin a segment at an offset; it may stay empty.

        Raises:
            OSError: the previous segment could not be closed, or the new one not be created.
        """
        self._roll()
        if not self.segments:
            self._io.make_directory(self.placement.directory)
        self._open = _OpenSegment(self._io, self.placement, base_offset)
        return self._open

    def append_torn(self, batch: EncodedBatch) -> None:
        """Write the first half of a batch, as a crash leaves it; nothing may follow.

        Raises:
            OSError: it could not be written.
        """
        self._segment_for(batch).append_torn(memoryview(batch.data)[: len(batch.data) // 2])

    def close(self) -> list[StagedSegment]:
        """Close the last segment and return all of them.

        Raises:
            OSError: it could not be written.
        """
        self._roll()
        return self.segments

    def _segment_for(self, batch: EncodedBatch) -> "_OpenSegment":
        segment = self._open
        if segment is None or not segment.has_room_for(batch):
            return self.begin(batch.base_offset)
        return segment

    def _roll(self) -> None:
        if self._open is not None:
            self.segments.append(self._open.close(self._producers.to_snapshot()))
            self._open = None

    def _note_offsets(self, batch: RecordBatch, segment: "_OpenSegment") -> None:
        """Note the leader epoch, and offsets that are missing."""
        if not segment.epochs or segment.epochs[-1][0] != batch.leader_epoch:
            segment.epochs.append((batch.leader_epoch, batch.base_offset))
        if batch.record_count <= batch.last_offset_delta or self._next_offset not in (
            None,
            batch.base_offset,
        ):
            segment.has_gaps = True
        self._next_offset = batch.next_offset

    def _note_producer(self, batch: RecordBatch, segment: "_OpenSegment") -> None:
        """See: S-16, S-43 (LogSegment.updateProducerState)."""
        completed = self._producers.replay(batch)
        if completed is None:
            return
        if completed.is_aborted:
            segment.transaction_index += TRANSACTION_ENTRY.pack(
                TRANSACTION_VERSION,
                completed.producer_id,
                completed.first_offset,
                completed.last_offset,
                self._producers.last_stable_offset_after(completed),
            )
        self._producers.high_watermark_moved(completed.last_offset + 1)


class _OpenSegment:
    """The segment that is being written; its indexes stay in memory until close()."""

    def __init__(self, io: FileIO, placement: Placement, base_offset: int) -> None:
        self._io = io
        self._placement = placement
        self._base_offset = base_offset
        self._file: WritableFile = io.create(staged_path(placement, base_offset, LOG_SUFFIX))
        self._size_bytes = 0
        self._record_count = 0
        self._end_offset = base_offset
        self._bytes_since_entry = 0
        self._max_timestamp = -1
        self._offset_of_max_timestamp = base_offset
        self._last_indexed_timestamp = -1
        self._offset_index = bytearray()
        self._time_index = bytearray()
        self.transaction_index = bytearray()
        self.epochs: list[tuple[int, int]] = []
        self.has_gaps = False

    def has_room_for(self, batch: EncodedBatch) -> bool:
        """See: S-30 (LogSegment.shouldRoll)."""
        if self._size_bytes + len(batch.data) > self._placement.segment_bytes:
            return False
        return batch.last_offset - self._base_offset <= RELATIVE_OFFSET_MAX

    def append(self, batch: EncodedBatch) -> None:
        """See: S-13 (LogSegment.append)."""
        self._file.write(batch.data)
        if batch.max_timestamp > self._max_timestamp:
            self._max_timestamp = batch.max_timestamp
            self._offset_of_max_timestamp = batch.last_offset
        if self._bytes_since_entry > self._placement.index_interval_bytes:
            self._offset_index += OffsetIndex.ENTRY.pack(
                batch.last_offset - self._base_offset, self._size_bytes
            )
            self._index_time()
            self._bytes_since_entry = 0
        self._bytes_since_entry += len(batch.data)
        self._size_bytes += len(batch.data)
        self._record_count += batch.record_count
        self._end_offset = batch.last_offset + 1

    def append_torn(self, data: memoryview) -> None:
        """Write the bytes of a torn batch."""
        self._file.write(data)
        self._size_bytes += len(data)

    def _index_time(self) -> None:
        """See: S-14 (TimeIndex.maybeAppend)."""
        if self._max_timestamp > self._last_indexed_timestamp:
            self._last_indexed_timestamp = self._max_timestamp
            self._time_index += TimeIndex.ENTRY.pack(
                self._max_timestamp, self._offset_of_max_timestamp - self._base_offset
            )

    def close(self, producers: bytes) -> StagedSegment:
        """Write the indexes, with the final time index entry.

        See: S-31 (LogSegment.onBecomeInactiveSegment).
        """
        self._file.close()
        self._index_time()
        indexes = {INDEX_SUFFIX: self._offset_index, TIME_INDEX_SUFFIX: self._time_index}
        if self.transaction_index:
            indexes[TRANSACTION_INDEX_SUFFIX] = self.transaction_index
        for suffix, data in indexes.items():
            with self._io.create(staged_path(self._placement, self._base_offset, suffix)) as file:
                file.write(data)
        return StagedSegment(
            self._placement,
            self._base_offset,
            self._end_offset,
            self._size_bytes,
            self._record_count,
            (*indexes, LOG_SUFFIX),
            producers,
            tuple(self.epochs),
            self.has_gaps,
        )
