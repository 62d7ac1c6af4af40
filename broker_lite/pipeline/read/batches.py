"""The batches of a split, of any magic, as views; bounded reads, whatever the size of a segment.

Memory holds one read, or one batch if that is larger. Only the framing is looked at,
and the checksums when they are asked for: what the records are is for the views on top of this.

A batch that is cut off at the end of a log, with nothing known behind it, is a torn tail: an append
that was not finished. It ends the read and is no damage.
"""

import logging
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from broker_lite.pipeline.files.file_io import FileIO, LocalFileIO, ReadableFile
from broker_lite.pipeline.files.index_entries import next_indexed_position
from broker_lite.pipeline.files.layout import Segment
from broker_lite.pipeline.read.corruption import Corruption, OnCorruption
from broker_lite.pipeline.read.split import SegmentRange, Split
from broker_lite.record.batch import RECORD_BATCH_OVERHEAD, RecordBatch
from broker_lite.record.framing import (
    CURRENT_MAGIC,
    HEADER_SIZE_UP_TO_MAGIC,
    LOG_OVERHEAD,
    RECORD_OVERHEAD_V0,
)
from broker_lite.record.legacy import LegacyMessage

READ_BYTES: Final = 1 << 18
"""Of a local file: more would fall out of the processor's cache before it is looked at."""
REMOTE_READ_BYTES: Final = 4 << 20
"""Of other storage, where a read takes as long as a round trip."""
BATCH_BYTES_MAX: Final = 128 << 20
"""Above it a length is taken for damaged, so that a wrong one cannot take all memory."""

logger = logging.getLogger("broker_lite.pipeline")

_PREFIX: Final = struct.Struct(">qiib")
_LENGTH_MIN: Final = {
    0: RECORD_OVERHEAD_V0,
    1: RECORD_OVERHEAD_V0 + 8,
    CURRENT_MAGIC: RECORD_BATCH_OVERHEAD - LOG_OVERHEAD,
}


class LogBatch(NamedTuple):
    """A batch, its segment, and its position in the segment's .log file.

    The batch is a view of memory that lives as long as the view does.
    """

    segment: Segment
    position: int
    batch: RecordBatch | LegacyMessage


def read_batches(
    io: FileIO,
    split: Split,
    *,
    check_crc: bool,
    on_corrupt: OnCorruption,
    skip_missing: bool = False,
    keep_unsound: bool = False,
) -> Iterator[LogBatch]:
    """Yield the batches of a split that have offsets in its range, by rising offset.

    Args:
        io: of split.uri.
        split: of plan().
        check_crc: look at the checksum of every batch that is yielded.
        on_corrupt: gets what is left out; an error of its own ends the read.
        skip_missing: a segment that vanished since it was listed is passed over.
        keep_unsound: a batch with a wrong checksum is yielded, too, after on_corrupt got it.

    Raises:
        FileNotFoundError: a segment vanished.
        OSError: a file cannot be read.

    Rule: R-04, R-06 (FileLogInputStream, DefaultRecordBatch.ensureValid).
    """
    for part in split.ranges:
        path = part.segment.log_path
        try:
            file = io.open(path)
        except FileNotFoundError:
            if not skip_missing:
                raise
            logger.warning("segment vanished before it was read file=%s", path)
            continue
        with file:
            reader = _RangeReader(io, file, part, split, check_crc, on_corrupt)
            reader.keep_unsound = keep_unsound
            yield from reader.batches()


class _RangeReader:
    """Reads one range of a segment; a position is one in its file.

    Attributes:
        next_offset: what follows the batches so far; the next one begins there or later.
        beyond: how many batches in a row lie behind what is wanted. One alone has a damaged
            offset, which no checksum covers: the batch after it tells, or that there is none.
        last_position: of the batch before.
        suspect: position of a batch with a wrong checksum, as long as no good one came after it:
            its length may be wrong, too.
        needed_bytes: of the batch at position, as far as it is known.
        fault: rule and text of what is wrong at position.
    """

    def __init__(
        self,
        io: FileIO,
        file: ReadableFile,
        part: SegmentRange,
        split: Split,
        check_crc: bool,
        on_corrupt: OnCorruption,
    ) -> None:
        self.io = io
        self.file = file
        self.segment = part.segment
        self.path = part.segment.log_path
        self.position = self.last_position = part.start_position
        self.end = part.end_position
        self.first_offset = split.first_offset
        self.end_offset = split.end_offset
        self.check_crc = check_crc
        self.on_corrupt = on_corrupt
        self.keep_unsound = False
        self.next_offset = part.segment.base_offset
        self.beyond = 0
        self.suspect: int | None = None
        self.needed_bytes = 0
        self.fault: tuple[str, str] | None = None

    def batches(self) -> Iterator[LogBatch]:
        """Read to the end of the range, or until nothing that is wanted can follow."""
        read_bytes = READ_BYTES if isinstance(self.io, LocalFileIO) else REMOTE_READ_BYTES
        size_bytes = read_bytes
        while self.position < self.end:
            asked_bytes = min(size_bytes, self.end - self.position)
            buffer = memoryview(self.file.read_at(self.position, asked_bytes))
            yield from self._walk(buffer)
            left_bytes = self.end - self.position
            if left_bytes == 0 or self.beyond > 1:
                break
            size_bytes = read_bytes
            if self.fault is None:
                if len(buffer) == asked_bytes and self.needed_bytes <= left_bytes:
                    size_bytes = max(read_bytes, self.needed_bytes)
                    continue
                self.fault = "R-04", f"a batch is cut off after {left_bytes} bytes"
            if self.next_offset >= self.end_offset:
                return  # a torn tail, or the zeros of a file that was extended ahead
            self._leave_out(*self.fault)
        if self.beyond == 1:  # a plan has none such in its ranges
            text = f"the last batch of the range ends at {self.next_offset - 1}, behind it"
            self.on_corrupt(Corruption(self.path, self.last_position, "S-05", text))

    def _walk(self, buffer: memoryview) -> Iterator[LogBatch]:
        """Yield the whole batches of a buffer that starts at position, which follows them."""
        start, at, size_bytes = self.position, 0, len(buffer)
        self.fault = None
        while True:
            self.needed_bytes = HEADER_SIZE_UP_TO_MAGIC
            if size_bytes - at < HEADER_SIZE_UP_TO_MAGIC:
                return
            _, length, _, magic = _PREFIX.unpack_from(buffer, at)
            self.fault = _framing_fault(length, magic)
            if self.fault is not None:
                return
            self.needed_bytes = LOG_OVERHEAD + length
            if self.needed_bytes > size_bytes - at:
                return
            view = RecordBatch if magic == CURRENT_MAGIC else LegacyMessage
            batch = view(buffer, at, self.needed_bytes)
            if self._is_wanted(batch):
                yield LogBatch(self.segment, self.position, batch)
            elif self.beyond > 1:
                return
            self.last_position = self.position
            at += self.needed_bytes
            self.position = start + at

    def _is_wanted(self, batch: RecordBatch | LegacyMessage) -> bool:
        """Look whether a batch has offsets of the range, and whether it is sound."""
        lowest = self.next_offset
        if isinstance(batch, RecordBatch):
            first_offset = batch.base_offset
        else:  # where the set in a wrapper begins is only known by what is before it
            first_offset = min(lowest, batch.last_offset)
        self.next_offset = batch.next_offset
        if first_offset < lowest:
            text = f"offset {first_offset} after offset {lowest - 1}"
            self.on_corrupt(Corruption(self.path, self.position, "S-05", text))
            return False
        if first_offset >= self.end_offset:
            self.beyond += 1
            return False
        self.beyond = 0
        if batch.next_offset <= self.first_offset:
            return False
        if self.check_crc and not batch.crc_is_valid():
            self.suspect = self.position
            self.next_offset = lowest  # what the batch says of itself is not to be believed
            text = f"wrong checksum of a batch of {batch.size_bytes} bytes"
            self.on_corrupt(Corruption(self.path, self.position, "R-06", text))
            return self.keep_unsound
        self.suspect = None
        return True

    def _leave_out(self, rule: str, text: str) -> None:
        """Tell what is wrong at position, and go on at the next position that an index has."""
        self.on_corrupt(Corruption(self.path, self.position, rule, text))
        damaged, self.suspect = self.suspect, None
        if damaged is not None:
            position = next_indexed_position(self.io, self.segment, damaged, self.end)
            if position != self.position:  # else its length was right
                self.position = position
                return
        self.position = next_indexed_position(self.io, self.segment, self.position, self.end)


def _framing_fault(length: int, magic: int) -> tuple[str, str] | None:
    """Rule and text of what is wrong with the first bytes of a batch."""
    minimum = _LENGTH_MIN.get(magic)
    if minimum is None:
        return "R-02", f"magic {magic}"
    if length < minimum:
        return "R-04", f"length {length} of a batch of magic {magic}, at least {minimum}"
    if length > BATCH_BYTES_MAX:
        return "R-04", f"length {length}, more than the {BATCH_BYTES_MAX} that are read"
    return None
