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
from broker_lite.pipeline.files.indexes import next_indexed_position
from broker_lite.pipeline.files.layout import Segment
from broker_lite.pipeline.read.corruption import Corruption, OnCorruption
from broker_lite.pipeline.read.split import SegmentRange, Split
from broker_lite.record.batch import RECORD_BATCH_OVERHEAD, RecordBatch
from broker_lite.record.batch_walk import BatchWalk
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
    limit: int | None = None,
    walk: BatchWalk | None = None,
) -> Iterator[LogBatch]:
    """Yield the batches of a split that have offsets in its range, by rising offset.

    Args:
        io: of split.uri.
        split: of plan().
        check_crc: look at the checksum of every batch that is yielded.
        on_corrupt: gets what is left out; an error of its own ends the read.
        skip_missing: a segment that vanished since it was listed is passed over.
        keep_unsound: a batch with a wrong checksum is yielded, too, after on_corrupt got it.
        limit: base offset of the segment behind the last one, if that is known.
        walk: batches that it passes over are not yielded; for a split without limits of offsets.

    Raises:
        FileNotFoundError: a segment vanished.
        OSError: a file cannot be read.

    Rule: R-04, R-06 (FileLogInputStream, DefaultRecordBatch.ensureValid).
    """
    behind = (*(part.segment.base_offset for part in split.ranges[1:]), limit)
    for part, limit_of in zip(split.ranges, behind, strict=True):
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
            if limit_of != part.segment.base_offset:  # else the rest of it follows
                reader.limit = limit_of
            reader.keep_unsound = keep_unsound
            reader.walk = walk
            yield from reader.batches()


class _RangeReader:
    """Reads one range of a segment; a position is one in its file.

    No checksum covers the offset of a batch. So one that leaves a gap is held until the batch
    behind it agrees: compaction leaves gaps, and so does an offset that is damaged.

    Attributes:
        next_offset: what follows the batches so far; the next one begins there or later.
        limit: base offset of the segment behind, None where the split does not know one.
        held: a batch behind a gap that no other one has confirmed yet.
        held_from: what next_offset was in front of it.
        beyond: how many batches in a row lie behind what is wanted. One alone has a damaged
            offset, which no checksum covers: the batch after it tells, or that there is none.
        beyond_offset: of the last of them.
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
        self.walk: BatchWalk | None = None
        self.next_offset = part.segment.base_offset
        self.limit: int | None = None
        self.held: LogBatch | None = None
        self.held_from = self.next_offset
        self.beyond = 0
        self.beyond_offset = 0
        self.suspect: int | None = None
        self.needed_bytes = 0
        self.fault: tuple[str, str] | None = None

    def batches(self) -> Iterator[LogBatch]:
        """Read to the end of the range, or until nothing that is wanted can follow."""
        yield from self._read()
        yield from self._released()

    def _read(self) -> Iterator[LogBatch]:
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
            yield from self._released()
            self._leave_out(*self.fault)
        if self.beyond == 1:  # a plan has none such in its ranges
            self._tell_beyond()

    def _walk(self, buffer: memoryview) -> Iterator[LogBatch]:
        """Yield the whole batches of a buffer that starts at position, which follows them."""
        start, at, size_bytes = self.position, 0, len(buffer)
        self.fault = None
        while True:
            at = self._pass_sound(buffer, at, start)
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
            lowest = self.next_offset
            is_wanted, fault = self._judged(batch)
            if self.held is not None:
                yield from self._released()
            if fault is not None:
                self.on_corrupt(Corruption(self.path, self.position, *fault))
            if is_wanted:
                found = LogBatch(self.segment, self.position, batch)
                is_behind_gap = isinstance(batch, RecordBatch) and batch.base_offset > lowest
                if is_behind_gap and fault is None:
                    self.held, self.held_from = found, lowest
                else:
                    yield found
            elif self.beyond > 1:
                return
            self.last_position = self.position
            at += self.needed_bytes
            self.position = start + at

    def _pass_sound(self, buffer: memoryview, at: int, start: int) -> int:
        """Let the walk go on, if there is one; gives where in the buffer it stopped."""
        walk = self.walk
        if walk is None or self.held is not None or self.beyond:
            return at
        passed = walk.pass_sound(buffer, at, start)
        if passed > at:
            self.position, self.last_position = start + passed, walk.position
            self.next_offset, self.suspect = walk.next_offset, None
        return passed

    def _released(self) -> Iterator[LogBatch]:
        """Yield the batch that is held, if there is one."""
        found, self.held = self.held, None
        if found is not None:
            yield found

    def _judged(self, batch: RecordBatch | LegacyMessage) -> tuple[bool, tuple[str, str] | None]:
        """Look whether a batch has offsets of the range; give rule and text of what is wrong."""
        if isinstance(batch, RecordBatch):
            first_offset = batch.base_offset
        else:  # where the set in a wrapper begins is only known by what is before it
            first_offset = min(self.next_offset, batch.last_offset)
        if self.held is not None and self.held_from <= first_offset < self.next_offset:
            self._drop_held(first_offset)
        if first_offset >= self.end_offset:
            self.beyond += 1
            self.beyond_offset = first_offset
            return False, None
        if self.beyond:
            self._tell_beyond()
        if self.next_offset <= first_offset < batch.next_offset <= self.first_offset:
            self.next_offset = batch.next_offset
            return False, None
        if self.check_crc and not batch.crc_is_valid():
            # What the batch says of itself is not to be believed.
            self.suspect = self.position
            text = f"wrong checksum of a batch of {batch.size_bytes} bytes"
            return self.keep_unsound, ("R-06", text)
        fault = self._order_fault(first_offset, batch.next_offset)
        if fault is not None:
            return False, ("S-05", fault)
        self.suspect = None
        self.next_offset = batch.next_offset
        return True, None

    def _drop_held(self, first_offset: int) -> None:
        """The batch that is held does not fit to the one behind it: its offset is damaged."""
        assert self.held is not None
        text = f"offset {self.next_offset - 1} before offset {first_offset}"
        position, self.held, self.next_offset = self.held.position, None, self.held_from
        self.on_corrupt(Corruption(self.path, position, "S-05", text))

    def _tell_beyond(self) -> None:
        """The batch before lies behind what is wanted, and nothing else does: it is damaged."""
        self.beyond = 0
        text = f"offset {self.beyond_offset}, behind the last one that can be here"
        self.on_corrupt(Corruption(self.path, self.last_position, "S-05", text))

    def _order_fault(self, first_offset: int, next_offset: int) -> str | None:
        """What is wrong with the offsets of a batch between those of its neighbours."""
        if next_offset <= first_offset:
            return f"offsets {first_offset} to {next_offset - 1}"
        if first_offset < self.next_offset:
            return f"offset {first_offset} after offset {self.next_offset - 1}"
        if self.limit is not None and next_offset > self.limit:
            return f"offset {next_offset - 1} in front of the segment of offset {self.limit}"
        return None

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
