"""Reads the headers of the batches in a segment's file, for callers that search a place in it.

Nothing here raises an error for the contents of a file. A walk ends where no complete batch begins.
The cause may be a partial write at the end, zeros in a file that was extended in advance, or
damage; the caller decides which it is.
"""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from broker_lite.errors import CorruptMessage
from broker_lite.log.files.open_file import ReadsAt
from broker_lite.log.files.walk import HEADER, frames
from broker_lite.record.batch import RECORD_BATCH_OVERHEAD, RecordBatch
from broker_lite.record.framing import CURRENT_MAGIC, LOG_OVERHEAD, RECORD_OVERHEAD_V0
from broker_lite.record.legacy.messages import LegacyMessage

_READ_BYTES: Final = 64 << 10
_CODEC_POSITION: Final = 17
_CODEC_MASK: Final = 7
_LEGACY_TIMESTAMP: Final = struct.Struct(">q")
_LEGACY_TIMESTAMP_POSITION: Final = 18
_SIZE_MIN: Final = (
    LOG_OVERHEAD + RECORD_OVERHEAD_V0,
    LOG_OVERHEAD + RECORD_OVERHEAD_V0 + _LEGACY_TIMESTAMP.size,
    RECORD_BATCH_OVERHEAD,
)


class BatchHeader(NamedTuple):
    """The position of a batch in its file, and the fields of its header.

    Attributes:
        base_offset: the first offset. A compressed message of magic 0 or 1 stores only its last
            offset; for it, this is the offset after the batch before it.
        max_timestamp_ms: -1 for magic 0.
    """

    position: int
    size_bytes: int
    base_offset: int
    last_offset: int
    max_timestamp_ms: int
    magic: int

    @property
    def end_position(self) -> int:
        """The position after the batch's last byte."""
        return self.position + self.size_bytes


def walk_headers(file: ReadsAt, position: int, end: int, next_offset: int) -> Iterator[BatchHeader]:
    """Yield the headers of the complete batches from a position on.

    Ends at `end`, or where no complete batch begins.

    Args:
        file: a .log file.
        position: where a batch starts.
        end: the first byte that is not read.
        next_offset: the lowest offset that the first batch can have.

    See: R-01, R-02, R-04 (FileLogInputStream).
    """
    try:
        for chunk, at, start, _ in frames(file, position, end, _READ_BYTES):
            header = _header(chunk, at, start, next_offset)
            if header is None:
                return
            yield header
            next_offset = header.last_offset + 1
    except CorruptMessage:
        return


def header_at(file: ReadsAt, position: int, end: int, next_offset: int) -> BatchHeader | None:
    """Return the header of the batch at a position, None if no complete batch is there.

    See: R-01, R-02, R-04 (FileLogInputStream).
    """
    if not 0 <= position < end:
        return None
    chunk = file.read_at(position, min(HEADER.size, end - position)).ljust(HEADER.size, b"\0")
    header = _header(chunk, 0, position, next_offset)
    return header if header is not None and header.end_position <= end else None


def read_batch(file: ReadsAt, header: BatchHeader) -> RecordBatch | LegacyMessage | None:
    """Read the batch of a header; None if its checksum is wrong or the file ends inside it.

    See: R-06 (DefaultRecordBatch.ensureValid, LegacyRecord.ensureValid).
    """
    data = file.read_at(header.position, header.size_bytes)
    if len(data) < header.size_bytes:
        return None
    magic = data[LOG_OVERHEAD + 4]
    view = RecordBatch if magic == CURRENT_MAGIC else LegacyMessage
    batch = view(memoryview(data), 0, len(data))
    return batch if batch.crc_is_valid() else None


def _header(chunk: bytes, at: int, position: int, next_offset: int) -> BatchHeader | None:
    fields = HEADER.unpack_from(chunk, at)
    base_offset, length, _, magic, _, _, last_offset_delta, _, max_timestamp_ms = fields
    if not 0 <= magic <= CURRENT_MAGIC or length + LOG_OVERHEAD < _SIZE_MIN[magic]:
        return None
    last_offset = base_offset + last_offset_delta
    if magic < CURRENT_MAGIC:
        last_offset, max_timestamp_ms = base_offset, -1
        if magic == 1:
            timestamp_at = at + _LEGACY_TIMESTAMP_POSITION
            max_timestamp_ms = _LEGACY_TIMESTAMP.unpack_from(chunk, timestamp_at)[0]
        if chunk[at + _CODEC_POSITION] & _CODEC_MASK:
            base_offset = min(next_offset, last_offset)
    return BatchHeader(
        position, length + LOG_OVERHEAD, base_offset, last_offset, max_timestamp_ms, magic
    )
