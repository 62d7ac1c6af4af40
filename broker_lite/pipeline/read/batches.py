"""Reads the batches of a split, of any magic, as views.

Memory holds one read, or one batch if that is larger. Only the framing is checked, and the
checksums on request; the views on top of this decode the records.

A batch that is cut off at the end of a log, with nothing sound behind it, is a torn tail: an
unfinished append. It ends the read and is no damage. Behind damage, the read continues at the next
batch with a right checksum. In a log that no cleaner touched, missing offsets are damage, too.
"""

import logging
import struct
from collections.abc import Iterator
from typing import Final

from broker_lite.log.files.headers import BatchHeader
from broker_lite.pipeline.files.file_io import FileIO, ReadableFile
from broker_lite.pipeline.files.witnesses import indexed_end
from broker_lite.pipeline.read.corruption import Corruption, OnCorruption
from broker_lite.pipeline.read.due_offsets import DueOffsets
from broker_lite.pipeline.read.framing import framing_fault
from broker_lite.pipeline.read.held_offsets import HeldOffsets, order_fault
from broker_lite.pipeline.read.log_batch import LogBatch, first_offset_of
from broker_lite.pipeline.read.sound_behind import SoundBehind
from broker_lite.pipeline.read.split import SegmentRange, Split
from broker_lite.record.batch import RecordBatch
from broker_lite.record.batch_walk import BatchWalk
from broker_lite.record.framing import CURRENT_MAGIC, HEADER_SIZE_UP_TO_MAGIC, LOG_OVERHEAD
from broker_lite.record.legacy.messages import LegacyMessage

__all__ = ["LogBatch", "read_batches"]

logger = logging.getLogger("broker_lite.pipeline")

_PREFIX: Final = struct.Struct(">qiib")


def read_batches(
    io: FileIO,
    split: Split,
    *,
    check_crc: bool,
    on_corrupt: OnCorruption,
    skip_missing: bool = False,
    keep_unsound: bool = False,
    walk: BatchWalk | None = None,
) -> Iterator[LogBatch]:
    """Yield the batches of a split that have offsets in its range, in order.

    Args:
        io: opens split.uri.
        split: from plan().
        check_crc: check the checksum of every batch that is yielded.
        on_corrupt: called for damage that is left out; an error that it raises ends the read.
        skip_missing: skip a segment that vanished since it was listed.
        keep_unsound: yield a batch with a wrong checksum, too, after calling on_corrupt.
        walk: batches that it passes over are not yielded; only for a split without offset limits.

    Raises:
        FileNotFoundError: a segment vanished.
        OSError: a file cannot be read.

    See: R-04, R-06, R-18 (FileLogInputStream, DefaultRecordBatch.ensureValid).
    """
    due = DueOffsets(split.first_offset, split.end_offset, split.cleaned_end)
    for part in split.ranges:
        path = part.segment.log_path
        try:
            file = io.open(path)
        except FileNotFoundError:
            if not skip_missing:
                raise
            logger.warning("segment vanished before it was read file=%s", path)
            due.is_told = True
            continue
        with file:
            reader = _RangeReader(io, file, part, due, check_crc, on_corrupt)
            reader.keep_unsound = keep_unsound
            reader.walk = walk
            yield from reader.batches()


class _RangeReader:
    """Reads one range of a segment; positions are positions in its file.

    No checksum covers the offset of a batch. A gap may come from compaction or from a damaged
    offset. So a batch behind a gap is held until the next batch confirms its offset.

    Attributes:
        due: which offsets are still expected, over all ranges of the split.
        next_offset: the offset after the batches so far; the next batch begins there or later.
        limit: base offset of the next segment, None if there is none.
        held: a batch behind a gap that no other batch has confirmed yet.
        held_offsets: its offsets.
        beyond: how many batches in a row lie behind the wanted offsets. A single one has a damaged
            offset; the next batch, or its absence, shows which it is.
        beyond_offsets: first offset of the last of them, and the offset after it.
        last_position: position of the previous batch.
        has_old: whether the previous batch has magic 0 or 1, or there is none.
        unchecked: position of the previous batch if its checksum was not checked (its length may be
            wrong), else -1.
        behind: finds the next sound batch behind damage.
        needed_bytes: size of the batch at position, as far as it is known.
        fault: rule and text of what is wrong at position.
    """

    def __init__(
        self,
        io: FileIO,
        file: ReadableFile,
        part: SegmentRange,
        due: DueOffsets,
        check_crc: bool,
        on_corrupt: OnCorruption,
    ) -> None:
        self.io = io
        self.file = file
        self.segment = part.segment
        self.path = part.segment.log_path
        self.position = self.last_position = part.start_position
        self.end = part.end_position
        self.due = due
        self.first_offset = due.first_offset
        self.end_offset = due.end_offset
        self.check_crc = check_crc
        self.on_corrupt = on_corrupt
        self.keep_unsound = False
        self.walk: BatchWalk | None = None
        base_offset = part.segment.base_offset
        self.next_offset = base_offset if part.lowest_offset is None else part.lowest_offset
        self.limit = part.segment.limit if part.limit is None else part.limit
        self.held: LogBatch | None = None
        self.held_offsets: HeldOffsets | None = None
        self.beyond = 0
        self.beyond_offsets = 0, 0
        self.has_old = True
        self.unchecked = -1
        self.behind = SoundBehind(file, part)
        self.needed_bytes = 0
        self.fault: tuple[str, str] | None = None

    def batches(self) -> Iterator[LogBatch]:
        """Read to the end of the range, or until no wanted batch can follow."""
        yield from self._read()
        held = self.held_offsets
        if held is not None and held.is_behind_gap and self.due.is_strict:
            is_last = self.limit is None and self.end == self.segment.size_bytes
            if is_last or not self.due.ends_right(self.next_offset, self.limit):
                self._drop_held(held, "nothing behind it agrees")
        yield from self._released()
        self._tell_end()

    def _read(self) -> Iterator[LogBatch]:
        read_bytes = self.io.read_bytes
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
            self._pass_damage(*self.fault)
        if self.beyond == 1:  # a planned range has no batch behind the wanted offsets
            self._tell_beyond()

    def _walk(self, buffer: memoryview) -> Iterator[LogBatch]:
        """Yield the whole batches of a buffer that starts at position, and advance position."""
        start, at, size_bytes = self.position, 0, len(buffer)
        self.fault = None
        while True:
            at = self._pass_sound(buffer, at, start)
            self.needed_bytes = HEADER_SIZE_UP_TO_MAGIC
            if size_bytes - at < HEADER_SIZE_UP_TO_MAGIC:
                return
            _, length, _, magic = _PREFIX.unpack_from(buffer, at)
            self.fault = framing_fault(length, magic)
            if self.fault is not None:
                return
            self.needed_bytes = LOG_OVERHEAD + length
            if self.needed_bytes > size_bytes - at:
                return
            view = RecordBatch if magic == CURRENT_MAGIC else LegacyMessage
            batch = view(buffer, at, self.needed_bytes)
            position = self.position
            if self._is_next(batch):
                self.position += self.needed_bytes
                self.next_offset = batch.next_offset
                self.unchecked = -1 if self.check_crc else position
                self.due.came_to(self.next_offset)
                yield LogBatch(self.segment, position, batch)
            else:
                yield from self._take(batch)
                if self.beyond > 1:
                    return
            self.last_position = position
            at = self.position - start
            if not 0 <= at <= size_bytes:
                self.needed_bytes = 0
                return  # the next sound batch lies elsewhere

    def _is_next(self, batch: RecordBatch | LegacyMessage) -> bool:
        """Tell whether a batch is wanted, sound and the next one, as nearly all are."""
        return (
            isinstance(batch, RecordBatch)
            and self.next_offset == batch.base_offset < self.end_offset
            and self.held_offsets is None
            and self.due.is_next(batch.base_offset)
            and not (self.beyond or self.has_old)
            and batch.base_offset < batch.next_offset > self.first_offset
            and (self.limit is None or batch.next_offset <= self.limit)
            and (not self.check_crc or batch.crc_is_valid())
        )

    def _take(self, batch: RecordBatch | LegacyMessage) -> Iterator[LogBatch]:
        """Yield the batch at position if it is wanted, and advance position."""
        found = LogBatch(self.segment, self.position, batch)
        doubt, lowest = self._settle_held(batch), self.next_offset
        is_wanted = self._is_wanted(batch)
        if is_wanted and self.check_crc and not batch.crc_is_valid():
            if self.keep_unsound:
                yield from self._released()
            self._pass_unsound(batch)
            if self.keep_unsound:
                yield found
            return
        offsets = first_offset_of(batch, lowest), batch.next_offset
        fault = doubt or order_fault(*offsets, lowest, self.limit) if is_wanted else None
        yield from self._released()
        if fault is not None:
            self._tell(self.position, "S-05", fault)
        self.unchecked = -1 if is_wanted and self.check_crc else self.position
        self.position += batch.size_bytes
        if not is_wanted or fault is not None:
            return
        self.next_offset = batch.next_offset
        self.has_old = isinstance(batch, LegacyMessage)
        is_vague = self.due.is_strict and self.due.is_told
        is_sure = isinstance(batch, LegacyMessage) or self.due.is_claimed(offsets[0])
        if not is_sure and (is_vague or offsets[0] > lowest):
            self.held = found
            self.held_offsets = HeldOffsets(lowest, *offsets, found.position, batch.crc, is_vague)
        else:
            self._yielded(found)
            yield found

    def _pass_sound(self, buffer: memoryview, at: int, start: int) -> int:
        """Let the compiled walk pass over sound batches; return where in the buffer it stopped."""
        walk = self.walk
        if walk is None or self.held is not None or self.beyond:
            return at
        passed = walk.pass_sound(buffer, at, start)
        if passed > at:
            self.position, self.last_position = start + passed, walk.position
            self.next_offset, self.has_old = walk.next_offset, False
            self.due.came_to(self.next_offset)
        return passed

    def _released(self) -> Iterator[LogBatch]:
        """Yield the batch that is held, if there is one."""
        found, self.held = self.held, None
        self.held_offsets = None
        if found is not None:
            self._yielded(found)
            yield found

    def _yielded(self, found: LogBatch) -> None:
        """Report the offsets that are missing in front of a yielded batch."""
        batch = found.batch
        if isinstance(batch, RecordBatch):
            self._tell_missing(batch.base_offset, found.position)
        self.due.came_to(batch.next_offset)

    def _tell_end(self) -> None:
        """Report the offsets that are missing behind the last batch of the range.

        A read without an end offset skips the index check: its caller checks indexes itself.
        """
        is_short = self.due.is_short(self.next_offset, self.segment.limit)
        if is_short and self.end == self.segment.size_bytes:
            witness = indexed_end(self.io, self.segment, self.next_offset)
            if witness is not None:
                text = f"the segment ends at offset {self.next_offset}, and its {witness.text}"
                self._tell(self.end, witness.rule, text)
        self._tell_missing(self.due.end_of(self.limit), self.end)

    def _tell_missing(self, end_offset: int, position: int) -> None:
        """Report expected offsets that are missing up to an end, unless damage explains them."""
        missing = self.due.missing_below(end_offset)
        if missing is not None:
            self.on_corrupt(Corruption(self.path, position, "R-18", missing))
        self.due.came_to(end_offset)

    def _tell_beyond(self) -> None:
        """Report the previous batch: alone behind the wanted offsets, its offset is damaged."""
        self.beyond = 0
        self.due.claim_count(*self.beyond_offsets, self.next_offset)
        text = f"offset {self.beyond_offsets[0]}, behind the last one that can be here"
        self._tell(self.last_position, "S-05", text)

    def _is_wanted(self, batch: RecordBatch | LegacyMessage) -> bool:
        """Tell whether a batch has offsets of the range, taking its header as right."""
        first_offset = first_offset_of(batch, self.next_offset)
        if first_offset >= self.end_offset:
            self.beyond += 1
            self.beyond_offsets = first_offset, batch.next_offset
            return False
        if self.beyond:
            self._tell_beyond()
        if self.next_offset <= first_offset < batch.next_offset <= self.first_offset:
            self.next_offset = batch.next_offset
            return False
        return True

    def _settle_held(self, batch: RecordBatch | LegacyMessage) -> str | None:
        """Drop the held batch if the next batch contradicts its offset.

        Returns:
            What is wrong with the next batch, if that one may be damaged as well.
        """
        held, first_offset = self.held_offsets, first_offset_of(batch, self.next_offset)
        if held is None or not held.is_contradicted(first_offset, batch.crc):
            return None
        if self.due.is_lost(held.next_offset, first_offset):
            return None  # the damaged batch in front is one that belongs between the two
        found = None if not self.check_crc or batch.crc_is_valid() else self._next_sound()
        if held.is_right_beside(first_offset, batch.next_offset, self.limit, found):
            self.held_offsets = held._replace(is_before_damage=True)
            return None
        self._drop_held(held, f"the next batch has offset {first_offset}")
        return None if self.due.is_claimed(first_offset) else held.doubt(first_offset)

    def _drop_held(self, held: HeldOffsets, why: str) -> None:
        """Drop the held batch, whose offset is damaged, and report it."""
        self.held, self.held_offsets = None, None
        self.next_offset = held.lowest
        self.due.claim_count(held.base_offset, held.next_offset, held.lowest)
        self._tell(held.position, "S-05", held.fault(why))

    def _pass_unsound(self, batch: RecordBatch | LegacyMessage) -> None:
        """Report a batch with a wrong checksum, and continue behind it.

        Its header is not trusted, nor its length, unless the next batch follows with the next
        offset.
        """
        position, end = self.position, self.position + batch.size_bytes
        lost_end = batch.next_offset
        self.due.claim(*self.behind.offsets_at(position), self.next_offset)
        is_next = first_offset_of(batch, self.next_offset) == self.next_offset < lost_end
        if not (is_next and self.behind.follows(end, lost_end)):
            found = self._next_sound()
            if found is not None:
                end = min(end, found.position)
            if not is_next or (found is not None and found.base_offset < lost_end):
                lost_end = self._lost_end(found)
        self.position = end
        text = f"wrong checksum of a batch of {batch.size_bytes} bytes"
        self._tell(position, "R-06", text + self.due.lost_below(lost_end, self._lowest))
        self.due.lost_to(lost_end)

    def _pass_damage(self, rule: str, text: str) -> None:
        """Report damage at position, and continue at the next sound batch."""
        position, found = self.position, self._next_sound()
        self.due.claim(*self.behind.offsets_at(position), self.next_offset)
        self.position = self.end if found is None else found.position
        lost = self.due.lost_below(self._lost_end(found), self._lowest)
        self._tell(position, rule, text + lost)

    def _next_sound(self) -> BatchHeader | None:
        """Find the next sound batch behind the one at position."""
        begin = self.position if self.unchecked < 0 else self.unchecked
        return self.behind.find(begin + 1, self._lowest, with_old=self.has_old)

    def _lost_end(self, found: BatchHeader | None) -> int:
        """Return the offset behind the last one that damage can have destroyed."""
        return self.due.end_of(self.limit) if found is None else found.base_offset

    @property
    def _lowest(self) -> int:
        """The lowest offset that can follow; a held batch may be damaged and does not count."""
        return self.next_offset if self.held_offsets is None else self.held_offsets.lowest

    def _tell(self, position: int, rule: str, text: str) -> None:
        self.due.is_told = True
        if self.held_offsets is not None:
            self.held_offsets = self.held_offsets._replace(is_before_damage=True)
        self.on_corrupt(Corruption(self.path, position, rule, text))
