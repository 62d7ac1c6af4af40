"""Which records of a batch a compaction keeps, and a copy of them: its two loops over records.

Compiled in place by Cython with the types of survivors.pxd, and plain Python without a compiler, as
scan.py is. All work on plain records: a compressed batch is decompressed before. What is kept is
told by one byte a record, 1 or 0, so that whoever judges otherwise can fill these bytes, too.

The numbers returned as status are those of scan_status.ScanStatus.

Rule: S-82, S-84 (Cleaner.buildOffsetMapForSegment, Cleaner.shouldRetainRecord).
"""

from broker_lite.record.columns import copy_bytes
from broker_lite.record.encode_records import varlong_size_bytes
from broker_lite.record.key_map import KeyMap
from broker_lite.record.scan import RecordCursor


def note_keys(
    keys: KeyMap,
    count_max: int,
    buffer: memoryview,
    start: int,
    end: int,
    count: int,
    base_offset: int,
    first_offset: int,
) -> tuple[int, int, bool]:
    """Put the keys of a batch's records into a map.

    Args:
        keys: the map.
        count_max: with so many keys it counts as full; less than its slots.
        buffer: plain records; format B and contiguous; read only.
        start: position of the first record.
        end: position after the last byte of the batch, or of the decompressed stream.
        count: how many records the header declares.
        base_offset: of the batch.
        first_offset: records below it are passed over.

    Returns:
        status, the offset of the last record that was put (-1: none), and whether a record had to
        be left out, at which the walk ends.

    Raises:
        ValueError: start and end are not positions in the buffer.

    Rule: S-82 (Cleaner.buildOffsetMapForSegment).
    """
    cursor = RecordCursor(buffer, start, end, True)
    status = 0
    last_offset = -1
    read = 0
    if count < 0:
        status = 1
    while read < count:
        status = cursor.read_record()
        if status != 0:
            break
        read += 1
        offset = base_offset + cursor.offset_delta
        if cursor.key_length < 0 or offset < first_offset:
            continue
        if keys.count >= count_max:
            return 0, last_offset, True
        keys.put(buffer, cursor.key_position, cursor.key_length, offset)
        last_offset = offset
    if status == 0 and count > 0 and cursor.position < end:
        status = 4
    return status, last_offset, False


class Judgement:
    """Looks at the records of a batch; the attributes tell of the last call.

    Args:
        kept: one byte a record, written to; 0 or 1.

    Attributes:
        kept_count: how many records stay.
        has_kept_null: whether one without a value stays.
    """

    def __init__(self, kept: memoryview) -> None:
        self.kept = kept
        self.kept_count = 0
        self.has_kept_null = False

    def by_key(
        self,
        keys: KeyMap,
        latest_offset: int,
        drops_null: bool,
        buffer: memoryview,
        start: int,
        end: int,
        count: int,
        base_offset: int,
    ) -> int:
        """Keep the newest record of each key, and give the status.

        Args:
            keys: newest offset by key.
            latest_offset: up to which the map was filled; what comes after it stays.
            drops_null: whether tombstones go.
            buffer: plain records; format B and contiguous; read only.
            start: position of the first record.
            end: position after the last byte.
            count: how many records the header declares, at most the bytes of `kept`.
            base_offset: of the batch.

        Raises:
            ValueError: start and end are not positions in the buffer, or there are too many.

        Rule: S-84 (Cleaner.shouldRetainRecord).
        """
        cursor = RecordCursor(buffer, start, end, True)
        if count > len(self.kept):
            raise ValueError("more records than there is room to judge")
        self.kept_count = 0
        self.has_kept_null = False
        status = 0
        read = 0
        if count < 0:
            status = 1
        while read < count:
            status = cursor.read_record()
            if status != 0:
                break
            offset = base_offset + cursor.offset_delta
            is_kept = True
            if offset <= latest_offset:
                if cursor.key_length < 0 or (drops_null and cursor.value_length < 0):
                    is_kept = False
                else:
                    newest = keys.get(buffer, cursor.key_position, cursor.key_length)
                    is_kept = offset >= newest
            self._note(read, is_kept, cursor.value_length < 0)
            read += 1
        if status == 0 and count > 0 and cursor.position < end:
            status = 4
        return status

    def by_offset(
        self,
        bits: memoryview,
        bits_offset: int,
        drops_null: bool,
        buffer: memoryview,
        start: int,
        end: int,
        count: int,
        base_offset: int,
    ) -> int:
        """Keep the records with certain offsets, and give the status.

        Args:
            bits: one an offset, the least significant first; what lies behind the last is 0.
            bits_offset: that of the first bit, at most base_offset.
            drops_null: whether tombstones go.
            buffer: plain records; format B and contiguous; read only.
            start: position of the first record.
            end: position after the last byte.
            count: how many records the header declares, at most the bytes of `kept`.
            base_offset: of the batch.

        Raises:
            ValueError: start and end are not positions in the buffer, or there are too many.

        Rule: S-84 (Cleaner.shouldRetainRecord).
        """
        cursor = RecordCursor(buffer, start, end, True)
        if count > len(self.kept):
            raise ValueError("more records than there is room to judge")
        self.kept_count = 0
        self.has_kept_null = False
        status = 0
        read = 0
        if count < 0:
            status = 1
        while read < count:
            status = cursor.read_record()
            if status != 0:
                break
            bit = base_offset - bits_offset + cursor.offset_delta
            is_kept = False
            if 0 <= bit < 8 * len(bits) and not (drops_null and cursor.value_length < 0):
                is_kept = (bits[bit >> 3] >> (bit & 7)) & 1 == 1
            self._note(read, is_kept, cursor.value_length < 0)
            read += 1
        if status == 0 and count > 0 and cursor.position < end:
            status = 4
        return status

    def _note(self, record: int, is_kept: bool, is_null: bool) -> None:
        self.kept[record] = 1 if is_kept else 0
        if is_kept:
            self.kept_count += 1
            if is_null:
                self.has_kept_null = True


class RecordCopier:
    """Writes the kept records of a batch anew, with other timestamp deltas.

    Args:
        target: written to from 0 on; format B and contiguous.

    Attributes:
        size_bytes: of what was written.
        base_timestamp: of the new batch.
        max_timestamp: of the records, -1 without any.
    """

    def __init__(self, target: memoryview) -> None:
        self._target = target
        self.size_bytes = 0
        self.base_timestamp = -1
        self.max_timestamp = -1

    def copy(
        self,
        kept: memoryview,
        buffer: memoryview,
        start: int,
        end: int,
        count: int,
        base_timestamp: int,
        append_timestamp: int,
        delete_horizon: int,
    ) -> bool:
        """Copy the kept records of a batch whose records were found sound.

        Args:
            kept: of a Judgement.
            buffer: plain records; format B and contiguous; read only.
            start: position of the first record.
            end: position after the last byte.
            count: of the records.
            base_timestamp: of the batch.
            append_timestamp: of all its records, or -1 when each has its own.
            delete_horizon: the new base timestamp, or -1: that of the first kept record.

        Returns:
            False when a writer of these records would not give these bytes, or would refuse them:
            they are to be written one by one. What was written does not count then.

        Raises:
            ValueError: start and end are not positions in the buffer.

        Rule: R-30, R-90, R-91 (MemoryRecords.buildRetainedRecordsInto).
        """
        cursor = RecordCursor(buffer, start, end, True)
        if count > len(kept):
            raise ValueError("more records than were judged")
        sign = 0x8000000000000000
        mask = 0xFFFFFFFFFFFFFFFF
        base = base_timestamp & mask
        self.size_bytes = 0
        self.base_timestamp = delete_horizon
        self.max_timestamp = -1
        has_base = delete_horizon >= 0
        last_delta = -1
        record = 0
        while record < count:
            position = cursor.position
            if kept[record] == 0:
                length = cursor.read_varint(end)
                if cursor.position < 0 or length < 0 or not cursor.skip(length, end):
                    return False
                record += 1
                continue
            record += 1
            if not cursor.skip_canonical_record():
                return False
            timestamp = append_timestamp
            if append_timestamp < 0:
                wrapped = (base + cursor.timestamp_delta) & mask
                timestamp = (wrapped ^ sign) - sign
            delta = cursor.offset_delta
            if timestamp < -1 or delta <= last_delta:
                return False
            last_delta = delta
            if not has_base:
                self.base_timestamp = timestamp
                has_base = True
            if timestamp > self.max_timestamp:
                self.max_timestamp = timestamp
            # length, attributes, both deltas: all in their shortest form
            position += varlong_size_bytes(cursor.length) + 1
            position += varlong_size_bytes(cursor.timestamp_delta) + varlong_size_bytes(delta)
            self._write(buffer, position, cursor.position, timestamp - self.base_timestamp, delta)
        return True

    def _write(
        self, buffer: memoryview, position: int, end: int, timestamp_delta: int, offset_delta: int
    ) -> bool:
        """Write one record of which key, value and headers lie between two positions.

        Raises:
            ValueError: there is no room for it.
        """
        length = 1 + varlong_size_bytes(timestamp_delta) + varlong_size_bytes(offset_delta)
        length += end - position
        if length + 5 > len(self._target) - self.size_bytes:
            raise ValueError("no room for another record")
        self._put_number(length)
        self._target[self.size_bytes] = 0
        self.size_bytes += 1
        self._put_number(timestamp_delta)
        self._put_number(offset_delta)
        copy_bytes(buffer, position, end - position, self._target, self.size_bytes)
        self.size_bytes += end - position
        return True

    def _put_number(self, value: int) -> bool:
        """Write a zigzag varint, which is the same for 32 bits and for 64.

        Rule: R-22 (ByteUtils.writeVarint, ByteUtils.writeVarlong).
        """
        mask = 0xFFFFFFFFFFFFFFFF
        raw = value & mask
        raw = (raw << 1) & mask
        if value < 0:
            raw ^= mask
        while raw >= 0x80:
            self._target[self.size_bytes] = raw & 0x7F | 0x80
            self.size_bytes += 1
            raw >>= 7
        self._target[self.size_bytes] = raw
        self.size_bytes += 1
        return True
