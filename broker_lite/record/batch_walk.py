"""Walk over sound batches: the per-batch loop for checking a whole log.

Cython compiles this module with the types of batch_walk.pxd; without a compiler it is plain Python.
A BatchWalk passes over sound batches. Such a batch is v2 and whole, has the next offsets, the right
checksum and the next sequences of its producer; and if an entry of an index is due there, the entry
is right. The walk stops in front of any other batch without a word about it: its caller, the owner,
takes that batch, judges it, and lets the walk go on behind it.

A walk is open if it knows the batch in front. After damage, and at the start of a file, that batch
is not known, so the walk is closed until its owner has taken a batch.
"""

import struct

from broker_lite.record.batch import HEADER
from broker_lite.record.crc import crc32c

_read_header = HEADER.unpack_from
_read_offset = struct.Struct(">q").unpack_from


class IndexCursor:
    """The entries of .index or .timeindex one by one, with a look at the entry behind.

    An entry of zeros ends the entries, because Kafka extends its index files ahead (S-12).

    Args:
        numbers: the numbers of the file, in the byte order of the machine; format i.
        width: how many numbers an entry has; 2 in .index, 3 in .timeindex.
        step: by how much values rise at least from one entry to the next, 0 or 1.

    Attributes:
        is_there: True if there is a current entry; the other attributes are about it.
        key: relative offset, or timestamp.
        value: position, or relative offset.
        is_below: True if the entry is below the entry behind it, as it has to be.
        behind_is_there: True if there is an entry behind it.

    See: S-10 to S-12 (OffsetIndex, TimeIndex).
    """

    def __init__(self, numbers: memoryview, width: int, step: int) -> None:
        if width not in (2, 3):
            raise ValueError("an entry has two numbers or three")
        self.numbers = numbers
        self.count = len(numbers)
        self.width = width
        self.step = step
        self.at = 0
        self.is_there = False
        self.key = 0
        self.value = 0
        self.is_below = True
        self.behind_is_there = True
        self.behind_key = 0
        self.behind_value = 0
        self.advance()
        self.advance()

    def advance(self) -> None:
        """Go to the entry behind."""
        self.is_there = self.behind_is_there and self.at > 0
        self.key = self.behind_key
        self.value = self.behind_value
        self.read_behind()
        self.is_below = not self.behind_is_there or (
            self.key < self.behind_key and self.value + self.step <= self.behind_value
        )

    def read_behind(self) -> None:
        """Read the next entry of the file, if there is one."""
        at = self.at
        if not self.behind_is_there or self.count - at < self.width:
            self.behind_is_there = False
            return
        key = self.numbers[at]
        value = self.numbers[at + 1]
        if self.width == 3:
            above = 0x100000000
            key = key * above + (value + above if value < 0 else value)
            value = self.numbers[at + 2]
        self.behind_is_there = key != 0 or value != 0
        self.behind_key = key
        self.behind_value = value
        self.at = at + self.width


class ProducerTrail:
    """The last batch of a producer so far.

    Attributes:
        file: the walk's `file` when it passed that batch.
    """

    def __init__(
        self,
        file: str,
        position: int,
        last_offset: int,
        epoch: int,
        first_sequence: int,
        last_sequence: int,
        timestamp_ms: int,
    ) -> None:
        self.file = file
        self.position = position
        self.last_offset = last_offset
        self.epoch = epoch
        self.first_sequence = first_sequence
        self.last_sequence = last_sequence
        self.timestamp_ms = timestamp_ms


class BatchWalk:
    """Passes over sound batches.

    Its owner sets the attributes before the first batch, and after each batch that the walk left.

    Args:
        size_bytes_max: a batch with a longer length field is left to the owner.
        cleaned_end: batches below it may have fewer records than offsets.
        trails: of the producers, by their ids; a batch of any other producer is left to the owner.

    Attributes:
        is_open: True if the batch in front of the next one is known.
        file: a text that is stored in the trails of producers.
        file_offset: the offset to which relative offsets in the indexes are added.
        offsets: of the file's .index.
        times: of the file's .timeindex.
        next_offset: the offset after the batch in front.
        judged_from: offsets may be missing in front of a batch if next_offset is below it.
        pending: relative offset of an entry of .index whose last batch is still to come, or -1.
        pending_position: the position in that entry.
        max_timestamp: of the file's batches so far, at least -1.
        stop_offset: batches that reach it are left to the owner.
        position: position in the file of the batch that was passed last.
        end: position after that batch.
        batches: how many were passed.
        records: how many records they have, without markers.
    """

    def __init__(
        self, size_bytes_max: int, cleaned_end: int, trails: dict[int, ProducerTrail]
    ) -> None:
        self.size_bytes_max = size_bytes_max
        self.cleaned_end = cleaned_end
        self.trails = trails
        self.is_open = False
        self.file = ""
        self.next_offset = 0
        self.judged_from = 0
        self.forget_indexes()
        self.position = 0
        self.end = 0
        self.batches = 0
        self.records = 0
        self.length = 0
        self.magic = 0
        self.attributes = 0
        self.base_offset = 0
        self.last_delta = 0
        self.own_timestamp = 0
        self.producer_id = 0
        self.epoch = 0
        self.sequence = 0
        self.count = 0

    def forget_indexes(self) -> None:
        """Check no index from here on."""
        self.file_offset = 0
        self.offsets = IndexCursor(memoryview(b"").cast("i"), 2, 1)
        self.times = IndexCursor(memoryview(b"").cast("i"), 3, 0)
        self.pending = -1
        self.pending_position = 0
        self.max_timestamp = -1
        self.stop_offset = 0x7FFFFFFFFFFFFFFF

    def pass_sound(self, buffer: memoryview, at: int, start: int) -> int:
        """Pass over the sound batches of a buffer.

        Args:
            buffer: bytes of the file; format B.
            at: where in the buffer a batch begins.
            start: position of the buffer's first byte in the file.

        Returns:
            Where in the buffer the first batch begins that is left to the owner, or is not whole.

        Rule: R-18.
        See: R-04, R-06, R-10, S-05, S-10, S-11, V-57.
        """
        size_bytes = len(buffer)
        while self.is_open and size_bytes - at >= 61:
            (
                self.base_offset,
                self.length,
                _,
                self.magic,
                crc,
                self.attributes,
                self.last_delta,
                _,
                self.own_timestamp,
                self.producer_id,
                self.epoch,
                self.sequence,
                self.count,
            ) = _read_header(buffer, at)
            end = at + 12 + self.length
            if self.magic != 2 or self.length < 49 or self.length > self.size_bytes_max:
                break
            if end > size_bytes or not self.has_next_offsets():
                break
            if self.base_offset > self.next_offset and not self.is_followed(buffer, end):
                break
            if not self.is_in_sequence() or not self.is_rightly_indexed(start + at, start + end):
                break
            if crc32c(buffer[at + 21 : end]) != crc:
                break
            self.take(start + at)
            at = end
            self.end = start + end
        return at

    def has_next_offsets(self) -> bool:
        """True if the batch has the next offsets, and a record for each, unless it was cleaned.

        Rule: R-18 (DefaultRecordBatch).
        """
        if self.base_offset != self.next_offset and (
            self.base_offset < self.next_offset or self.next_offset >= self.judged_from
        ):
            return False
        # Far below the largest 64-bit number, so that no sum here overflows.
        highest = 0x4000000000000000
        if self.last_delta < 0 or self.base_offset < 0 or self.base_offset > highest:
            return False
        if self.base_offset + self.last_delta >= self.stop_offset:
            return False
        if self.count == self.last_delta + 1:
            return True
        return 0 <= self.count <= self.last_delta and self.base_offset < self.cleaned_end

    def is_followed(self, buffer: memoryview, end: int) -> bool:
        """True if the batch behind agrees with the base offset, which no checksum covers."""
        if len(buffer) - end < 8:
            return False
        next_offset: int = _read_offset(buffer, end)[0]
        return next_offset > self.base_offset + self.last_delta

    def has_sequence(self) -> bool:
        """True if the batch's sequence counts; that of a marker does not."""
        return self.sequence >= 0 and self.attributes & 0x20 == 0

    def is_in_sequence(self) -> bool:
        """True if the batch has no sequence, or the next one of its producer.

        See: V-57 (ProducerAppendInfo.checkSequence).
        """
        if not self.has_sequence():
            return True
        trail = self.trails.get(self.producer_id)
        if trail is None or trail.epoch != self.epoch:
            return False
        if self.sequence + self.last_delta > 2147483647:
            return False
        if self.sequence == trail.last_sequence + 1:
            return True
        return self.sequence == 0 and trail.last_sequence == 2147483647

    def is_rightly_indexed(self, position: int, end: int) -> bool:
        """True if the entries that are due, at most one of each index, are right.

        See: S-10, S-11 (OffsetIndex, TimeIndex).
        """
        last = self.base_offset + self.last_delta - self.file_offset
        if 0 <= self.pending < last:
            return False
        offsets = self.offsets
        if offsets.is_there and (offsets.value < end or not offsets.is_below):
            if self.pending >= 0 or offsets.value != position or offsets.key < last:
                return False
            if not offsets.is_below or (offsets.behind_is_there and offsets.behind_value < end):
                return False
        times = self.times
        if times.is_there and (times.value <= last or not times.is_below):
            if times.key != self.own_timestamp or times.key < self.max_timestamp:
                return False
            if not times.is_below or (times.behind_is_there and times.behind_value <= last):
                return False
        return True

    def take(self, position: int) -> None:
        """Count the batch, now that all of it is known to be right."""
        last_offset = self.base_offset + self.last_delta
        last = last_offset - self.file_offset
        if self.pending == last:
            self.pending = -1
        if self.offsets.is_there and self.offsets.value == position:
            if self.offsets.key > last:
                self.pending = self.offsets.key
                self.pending_position = position
            self.offsets.advance()
        if self.times.is_there and self.times.value <= last:
            self.times.advance()
        if self.own_timestamp > self.max_timestamp:
            self.max_timestamp = self.own_timestamp
        if self.attributes & 0x20 == 0:
            self.records += self.count
        if self.has_sequence():
            trail = self.trails[self.producer_id]
            trail.file = self.file
            trail.position = position
            trail.last_offset = last_offset
            trail.first_sequence = self.sequence
            trail.last_sequence = self.sequence + self.last_delta
            trail.timestamp_ms = self.own_timestamp
        self.next_offset = last_offset + 1
        self.position = position
        self.batches += 1
