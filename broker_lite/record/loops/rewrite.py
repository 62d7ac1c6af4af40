"""Rewrite the records of a batch as Kafka's writer would, whatever program has written them.

Cython compiles this module with the types of rewrite.pxd; without a compiler it is plain Python.
It is for records that cannot keep their bytes: their deltas change, or Kafka's writer would write
other bytes. A first walk computes how many bytes they take, a second one writes them. Both work on
plain records that a full scan has found sound.

See: R-30, R-38, R-50, R-52 (DefaultRecord.writeTo, MemoryRecordsBuilder.appendWithOffset).
"""

try:
    import cython
except ImportError:
    from broker_lite.record.loops import lending as cython

from broker_lite.record.loops.columns import copy_bytes
from broker_lite.record.loops.encode_records import sized_bytes, varlong_size_bytes
from broker_lite.record.loops.lending import LENT_BYTES_MIN
from broker_lite.record.loops.scan import RecordCursor


class RecordRewriter:
    """Measures and writes the records of one batch; the attributes are about the last measure().

    Args:
        buffer: plain records; format B and contiguous; read only.
        start: position of the first record.
        end: position after the last byte.
        count: of the records.
        kept: one byte per record, 0 for those to leave out; empty if all stay.
        renumbers: number the kept records from 0 on, instead of keeping their offset deltas.

    Attributes:
        size_bytes: of the rewritten records.
        base_timestamp: the timestamp to which their new deltas are relative.
        max_timestamp: the largest of the kept records, at least -1.

    Raises:
        ValueError: start and end are not positions in the buffer, or `kept` is too short.
    """

    def __init__(
        self,
        buffer: memoryview,
        start: int,
        end: int,
        count: int,
        kept: memoryview,
        renumbers: bool,
    ) -> None:
        if start < 0 or end < start or end > len(buffer):
            raise ValueError("start and end are not positions in the buffer")
        if 0 < len(kept) < count:
            raise ValueError("more records than were judged")
        self._buffer = buffer
        self._kept = kept
        self._target = memoryview(bytearray())
        self._start = start
        self._end = end
        self._count = count
        self._renumbers = renumbers
        self._old_base = 0
        self._has_append_time = False
        self._position = 0
        self._is_stopped = False
        self.size_bytes = 0
        self.base_timestamp = -1
        self.max_timestamp = -1

    def stop(self) -> None:
        """Let a measure() or write() in another thread end soon; its result does not count then."""
        self._is_stopped = True

    def measure(
        self, base_timestamp: int, has_append_time: bool, append_time_ms: int, new_base: int
    ) -> int:
        """Compute how many bytes the rewritten records take.

        Args:
            base_timestamp: the batch's present one; not used with append time.
            has_append_time: all records have the same timestamp.
            append_time_ms: that timestamp.
            new_base: the new base timestamp; below 0: the timestamp of the first kept record.

        Returns:
            0; 1 if Kafka's writer would refuse: a timestamp below -1, an offset that does not rise,
            2 GB of records; 2 if the records are not sound.
        """
        cursor = RecordCursor(self._buffer, self._start, self._end, True)
        self._has_append_time = has_append_time
        self._old_base = append_time_ms if has_append_time else base_timestamp
        self.base_timestamp = new_base
        self.max_timestamp = -1
        self.size_bytes = 0
        if self._end - self._start > LENT_BYTES_MIN:
            with cython.nogil:
                status = self._measure(cursor)
        else:
            status = self._measure(cursor)
        return status

    def write(self, target: memoryview) -> int:
        """Write the records that measure() has measured.

        Args:
            target: format B and contiguous; it does not overlap the buffer.

        Returns:
            The bytes written, which are size_bytes.

        Raises:
            ValueError: the target is shorter than size_bytes.
        """
        if len(target) < self.size_bytes:
            raise ValueError("no room for the records")
        cursor = RecordCursor(self._buffer, self._start, self._end, True)
        self._target = target
        self._position = 0
        if self._end - self._start > LENT_BYTES_MIN:
            with cython.nogil:
                self._write(cursor)
        else:
            self._write(cursor)
        return self._position

    def _is_kept(self, record: int) -> bool:
        if len(self._kept) == 0:
            return True
        return self._kept[record] != 0

    def _timestamp(self, cursor: RecordCursor) -> int:
        """See: R-33 (DefaultRecord)."""
        sign = 0x8000000000000000
        mask = 0xFFFFFFFFFFFFFFFF
        if self._has_append_time:
            return self._old_base
        wrapped = ((self._old_base & mask) + cursor.timestamp_delta) & mask
        return (wrapped ^ sign) - sign

    def _timestamp_delta(self, cursor: RecordCursor) -> int:
        """Return the delta to the new base, in 64 bits as in Java."""
        sign = 0x8000000000000000
        mask = 0xFFFFFFFFFFFFFFFF
        wrapped = ((self._timestamp(cursor) & mask) - self.base_timestamp) & mask
        return (wrapped ^ sign) - sign

    def _measure(self, cursor: RecordCursor) -> int:
        has_base = self.base_timestamp >= 0
        written = 0
        last_delta = -1
        record = 0
        while record < self._count and not self._is_stopped:
            if cursor.read_record() != 0:
                return 2
            record += 1
            if not self._is_kept(record - 1):
                continue
            timestamp = self._timestamp(cursor)
            offset_delta = written if self._renumbers else cursor.offset_delta
            if timestamp < -1 or (written > 0 and offset_delta <= last_delta):
                return 1
            last_delta = offset_delta
            written += 1
            if not has_base:
                self.base_timestamp = timestamp
                has_base = True
            if timestamp > self.max_timestamp:
                self.max_timestamp = timestamp
            length = self._length(cursor, offset_delta)
            self.size_bytes += varlong_size_bytes(length) + length
        return 1 if self.size_bytes > 0x7FFFFFFF else 0

    def _length(self, cursor: RecordCursor, offset_delta: int) -> int:
        """Return the value of a record's length field; the cursor moves past the record's headers.

        See: R-30 (DefaultRecord.sizeOfBodyInBytes).
        """
        length = 1 + varlong_size_bytes(self._timestamp_delta(cursor))
        length += varlong_size_bytes(offset_delta)
        length += sized_bytes(cursor.key_length) + sized_bytes(cursor.value_length)
        length += varlong_size_bytes(cursor.header_count)
        cursor.position = cursor.headers_position
        header = 0
        while header < cursor.header_count and not self._is_stopped:
            size_bytes = cursor.read_varint(cursor.end)
            length += sized_bytes(text_size_bytes(self._buffer, cursor.position, size_bytes))
            cursor.skip(size_bytes, cursor.end)
            size_bytes = cursor.read_varint(cursor.end)
            length += sized_bytes(size_bytes)
            cursor.skip(size_bytes, cursor.end)
            header += 1
        return length

    def _write(self, cursor: RecordCursor) -> bool:
        written = 0
        record = 0
        while record < self._count and not self._is_stopped:
            if cursor.read_record() != 0:
                return False
            record += 1
            if not self._is_kept(record - 1):
                continue
            offset_delta = written if self._renumbers else cursor.offset_delta
            written += 1
            length = self._length(cursor, offset_delta)
            self._put_number(length)
            self._target[self._position] = 0
            self._position += 1
            self._put_number(self._timestamp_delta(cursor))
            self._put_number(offset_delta)
            self._put_bytes(cursor.key_position, cursor.key_length)
            self._put_bytes(cursor.value_position, cursor.value_length)
            self._put_number(cursor.header_count)
            self._put_headers(cursor)
        return True

    def _put_headers(self, cursor: RecordCursor) -> bool:
        cursor.position = cursor.headers_position
        header = 0
        while header < cursor.header_count and not self._is_stopped:
            length = cursor.read_varint(cursor.end)
            self._put_text(cursor.position, length)
            cursor.skip(length, cursor.end)
            length = cursor.read_varint(cursor.end)
            self._put_bytes(cursor.position, length)
            cursor.skip(length, cursor.end)
            header += 1
        return True

    def _put_bytes(self, position: int, length: int) -> bool:
        """Write a length and as many bytes; for null only its length."""
        if length < 0:
            self._put_number(-1)
            return True
        self._put_number(length)
        copy_bytes(self._buffer, position, length, self._target, self._position)
        self._position += length
        return True

    def _put_text(self, position: int, length: int) -> bool:
        """Write a header key, with U+FFFD for bytes that are not UTF-8.

        See: R-32 (RecordHeader.key, DefaultRecord.writeTo).
        """
        end = position + length
        self._put_number(text_size_bytes(self._buffer, position, length))
        while position < end:
            size_bytes = sign_size_bytes(self._buffer, position, end)
            if size_bytes > 0:
                copy_bytes(self._buffer, position, size_bytes, self._target, self._position)
                self._position += size_bytes
                position += size_bytes
            else:
                self._target[self._position] = 0xEF
                self._target[self._position + 1] = 0xBF
                self._target[self._position + 2] = 0xBD
                self._position += 3
                position -= size_bytes
        return True

    def _put_number(self, value: int) -> bool:
        """Write a zigzag varint, which is the same for 32 bits and for 64.

        See: R-22 (ByteUtils.writeVarint, ByteUtils.writeVarlong).
        """
        mask = 0xFFFFFFFFFFFFFFFF
        raw = value & mask
        raw = (raw << 1) & mask
        if value < 0:
            raw ^= mask
        while raw >= 0x80:
            self._target[self._position] = raw & 0x7F | 0x80
            self._position += 1
            raw >>= 7
        self._target[self._position] = raw
        self._position += 1
        return True


def text_size_bytes(buffer: memoryview, position: int, length: int) -> int:
    """Return the size of a text after Java has read it as UTF-8 and written it again.

    See: R-32 (RecordHeader.key).
    """
    end = position + length
    total = 0
    while position < end:
        size_bytes = sign_size_bytes(buffer, position, end)
        if size_bytes > 0:
            total += size_bytes
            position += size_bytes
        else:
            total += 3
            position -= size_bytes
    return total


def sign_size_bytes(buffer: memoryview, position: int, end: int) -> int:
    """Return how many bytes the next character of a text has; below 0 if they become U+FFFD.

    Bytes that are not UTF-8 are taken together as far as they could have begun a character. Java
    also takes the three bytes of a surrogate, or the first two of them, as one.

    See: R-32 (sun.nio.cs.UTF_8).
    """
    first = buffer[position]
    if first < 0x80:
        return 1
    if first < 0xC2 or first > 0xF4:
        return -1
    wanted = 2 + (first >= 0xE0) + (first >= 0xF0)
    lowest = lowest_second_byte(first)
    highest = 0x8F if first == 0xF4 else 0xBF
    size_bytes = 1
    while size_bytes < wanted:
        if position + size_bytes >= end:
            return -size_bytes
        byte = buffer[position + size_bytes]
        if byte < lowest or byte > highest:
            return -size_bytes
        lowest = 0x80
        highest = 0xBF
        size_bytes += 1
    if first == 0xED and buffer[position + 1] >= 0xA0:
        return -3
    return wanted


def lowest_second_byte(first: int) -> int:
    """Return the least second byte after `first` in a character of the shortest form."""
    if first == 0xE0:
        return 0xA0
    return 0x90 if first == 0xF0 else 0x80
