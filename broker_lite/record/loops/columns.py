"""Records of v2 batches as columns: the second per-record loop, for reading logs in bulk.

Cython compiles this module with the types of columns.pxd; without a compiler it is plain Python.
The cursor of scan.py walks the records. A first walk (measure_records) checks them and sums up the
space they need; then RecordColumns takes memory for any number of batches at once, and a second
walk (RecordColumns.append) copies each field to its place.

The layout is Arrow's, so that nothing is copied again: validity bits with the least significant
first, 32-bit ends with a leading 0, data without gaps.
"""

from broker_lite.record.loops.scan import RecordCursor

KEYS = 1
VALUES = 2
HEADERS = 4


def measure_records(
    buffer: memoryview,
    start: int,
    end: int,
    count: int,
    base_offset: int,
    first_offset: int,
    end_offset: int,
) -> tuple[int, int, int, int, int, int, int, int]:
    """Check all records of a batch and sum up the space for those within a range of offsets.

    Args:
        buffer: plain records; format B and contiguous; read only.
        start: position of the first record.
        end: position after the last byte of the batch, or of the decompressed stream.
        count: how many records the header declares; below 0 is invalid.
        base_offset: of the header.
        first_offset: records before it are left out.
        end_offset: records at and after it are left out.

    Returns:
        status (ScanStatus), the number of whole records, and for those within the range: number,
        bytes of keys, bytes of values, number of headers, bytes of their keys, of their values.

    Raises:
        ValueError: start and end are not positions in the buffer.

    See: R-34, R-37 (DefaultRecordBatch.iterator).
    """
    cursor = RecordCursor(buffer, start, end, True)
    status = 0
    read = 0
    records = 0
    key_bytes = 0
    value_bytes = 0
    headers = 0
    header_key_bytes = 0
    header_value_bytes = 0
    if count < 0:
        status = 1
    while read < count:
        status = cursor.read_record()
        if status != 0:
            break
        read += 1
        offset = base_offset + cursor.offset_delta
        if offset < first_offset or offset >= end_offset:
            continue
        records += 1
        if cursor.key_length > 0:
            key_bytes += cursor.key_length
        if cursor.value_length > 0:
            value_bytes += cursor.value_length
        if cursor.header_count > 0:
            record_end = cursor.position
            cursor.position = cursor.headers_position
            header = 0
            while header < cursor.header_count:
                length = cursor.read_varint(record_end)
                header_key_bytes += length
                cursor.position += length
                length = cursor.read_varint(record_end)
                if length > 0:
                    header_value_bytes += length
                    cursor.position += length
                header += 1
            headers += header
    if status == 0 and count > 0 and cursor.position < end:
        status = 4
    return (
        status,
        read,
        records,
        key_bytes,
        value_bytes,
        headers,
        header_key_bytes,
        header_value_bytes,
    )


class RecordColumns:
    """Columns for a number of records that is known from measure_records().

    Args:
        wanted: KEYS, VALUES and HEADERS added up; the other columns stay empty.
        records: the most records that will be appended.
        key_bytes: of all these records; the same for the other sizes.

    Attributes:
        records, headers: how many there are so far.
        offsets, timestamps: 64 bits each; timestamps in ms since the epoch.
        key_bits, key_ends, key_data: nullable bytes; value_bits, value_ends, value_data likewise.
        header_list_bits, header_list_ends: a list per record, null for a record without headers.
        header_key_ends, header_key_data: bytes that are never null.
        header_value_bits, header_value_ends, header_value_data: nullable bytes.
        has_odd_keys: a header key has non-ASCII bytes, which may be invalid UTF-8.
    """

    def __init__(
        self,
        wanted: int,
        records: int,
        key_bytes: int,
        value_bytes: int,
        headers: int,
        header_key_bytes: int,
        header_value_bytes: int,
    ) -> None:
        key_records = records if wanted & KEYS else 0
        value_records = records if wanted & VALUES else 0
        header_records = records if wanted & HEADERS else 0
        if not wanted & KEYS:
            key_bytes = 0
        if not wanted & VALUES:
            value_bytes = 0
        if not wanted & HEADERS:
            headers = header_key_bytes = header_value_bytes = 0
        self.wanted = wanted
        self.records = 0
        self.headers = 0
        self.has_odd_keys = False
        self._key_end = 0
        self._value_end = 0
        self._header_key_end = 0
        self._header_value_end = 0
        self.offsets = memoryview(bytearray(8 * records)).cast("q")
        self.timestamps = memoryview(bytearray(8 * records)).cast("q")
        self.key_bits = memoryview(bytearray((key_records + 7) // 8))
        self.key_ends = memoryview(bytearray(4 * key_records + 4)).cast("i")
        self.key_data = memoryview(bytearray(key_bytes))
        self.value_bits = memoryview(bytearray((value_records + 7) // 8))
        self.value_ends = memoryview(bytearray(4 * value_records + 4)).cast("i")
        self.value_data = memoryview(bytearray(value_bytes))
        self.header_list_bits = memoryview(bytearray((header_records + 7) // 8))
        self.header_list_ends = memoryview(bytearray(4 * header_records + 4)).cast("i")
        self.header_key_ends = memoryview(bytearray(4 * headers + 4)).cast("i")
        self.header_key_data = memoryview(bytearray(header_key_bytes))
        self.header_value_bits = memoryview(bytearray((headers + 7) // 8))
        self.header_value_ends = memoryview(bytearray(4 * headers + 4)).cast("i")
        self.header_value_data = memoryview(bytearray(header_value_bytes))

    def append(
        self,
        buffer: memoryview,
        start: int,
        end: int,
        count: int,
        base_offset: int,
        base_timestamp: int,
        append_timestamp: int,
        first_offset: int,
        end_offset: int,
    ) -> int:
        """Add the records of a batch that measure_records() has measured, in the same range.

        Args:
            buffer: as measured.
            start: as measured.
            end: as measured.
            count: as measured.
            base_offset: as measured.
            base_timestamp: of the header, in ms.
            append_timestamp: the timestamp of all records with LogAppendTime; -2 with CreateTime.
            first_offset: as measured.
            end_offset: as measured.

        Returns:
            0, or 2 if there is no room, because this batch was not measured.

        See: R-34, R-37 (DefaultRecordBatch.iterator).
        """
        cursor = RecordCursor(buffer, start, end, True)
        sign = 0x8000000000000000
        mask = 0xFFFFFFFFFFFFFFFF
        base = base_timestamp & mask
        read = 0
        while read < count:
            if cursor.read_record() != 0:
                break
            read += 1
            offset = base_offset + cursor.offset_delta
            if offset < first_offset or offset >= end_offset:
                continue
            row = self.records
            if row >= len(self.offsets):
                return 2
            self.offsets[row] = offset
            if append_timestamp == -2:
                wrapped = (base + cursor.timestamp_delta) & mask
                self.timestamps[row] = (wrapped ^ sign) - sign
            else:
                self.timestamps[row] = append_timestamp
            if self.wanted & 1 and not self._append_key(buffer, cursor, row):
                return 2
            if self.wanted & 2 and not self._append_value(buffer, cursor, row):
                return 2
            if self.wanted & 4 and not self._append_headers(buffer, cursor, row):
                return 2
            self.records = row + 1
        return 0

    def _append_key(self, buffer: memoryview, cursor: RecordCursor, row: int) -> bool:
        """Add a key; False if there is no room."""
        length = cursor.key_length
        if length >= 0:
            if not copy_bytes(buffer, cursor.key_position, length, self.key_data, self._key_end):
                return False
            self._key_end += length
            self.key_bits[row >> 3] |= 1 << (row & 7)
        self.key_ends[row + 1] = self._key_end
        return True

    def _append_value(self, buffer: memoryview, cursor: RecordCursor, row: int) -> bool:
        """Add a value; False if there is no room."""
        length = cursor.value_length
        if length >= 0:
            if not copy_bytes(
                buffer, cursor.value_position, length, self.value_data, self._value_end
            ):
                return False
            self._value_end += length
            self.value_bits[row >> 3] |= 1 << (row & 7)
        self.value_ends[row + 1] = self._value_end
        return True

    def _append_headers(self, buffer: memoryview, cursor: RecordCursor, row: int) -> bool:
        """Add the headers of the record that the cursor has read; False if there is no room."""
        record_end = cursor.position
        cursor.position = cursor.headers_position
        left = cursor.header_count
        if left > 0:
            self.header_list_bits[row >> 3] |= 1 << (row & 7)
        while left > 0:
            left -= 1
            header = self.headers
            if header + 1 >= len(self.header_key_ends):
                return False
            length = cursor.read_varint(record_end)
            at = self._header_key_end
            if not copy_bytes(buffer, cursor.position, length, self.header_key_data, at):
                return False
            cursor.position += length
            self._header_key_end = at + length
            self.header_key_ends[header + 1] = at + length
            while at < self._header_key_end:
                if self.header_key_data[at] >= 0x80:
                    self.has_odd_keys = True
                at += 1
            length = cursor.read_varint(record_end)
            if length >= 0:
                if not copy_bytes(
                    buffer,
                    cursor.position,
                    length,
                    self.header_value_data,
                    self._header_value_end,
                ):
                    return False
                cursor.position += length
                self._header_value_end += length
                self.header_value_bits[header >> 3] |= 1 << (header & 7)
            self.header_value_ends[header + 1] = self._header_value_end
            self.headers = header + 1
        self.header_list_ends[row + 1] = self.headers
        return True


def copy_bytes(source: memoryview, position: int, length: int, target: memoryview, at: int) -> bool:
    """Copy bytes; False, with nothing copied, if source or target has too few."""
    if length < 0 or position < 0 or at < 0:
        return False
    if length > len(source) - position or length > len(target) - at:
        return False
    index = 0
    while index < length:
        target[at + index] = source[position + index]
        index += 1
    return True
