"""Encode records of v2 batches from columns: the reverse of columns.py.

Cython compiles this module with the types of encode_records.pxd; without a compiler it is plain
Python. The columns have Arrow's layout; a slice of an array is given by the index of its first row.
Nothing is allocated here: whole records go into a buffer of the caller, as many as there is room
for.
"""

from broker_lite.record.loops.columns import copy_bytes

OFFSET_DELTA_MAX = 0x7FFFFFFF


class BytesColumn:
    """A column of nullable bytes.

    Args:
        bits: validity, the least significant bit first; empty if nothing is null.
        ends: positions in the data: where row 0 starts, then where each row ends.
        data: of all rows.
        first: the index of row 0 in bits and ends.
    """

    def __init__(self, bits: memoryview, ends: memoryview, data: memoryview, first: int) -> None:
        if first < 0:
            raise ValueError("a column cannot start below 0")
        self.bits = bits
        self.ends = ends
        self.data = data
        self.first = first
        self.start = 0

    def find(self, row: int) -> int:
        """Return the length of a row's bytes, -1 for null; set `start` to where they begin.

        Raises:
            ValueError: there is no such row, or its ends are not positions in the data.
        """
        index = self.first + row
        if row < 0 or index >= len(self.ends) - 1:
            raise ValueError("a column has fewer rows than are asked for")
        if len(self.bits) > 0:
            if index >> 3 >= len(self.bits):
                raise ValueError("a column has fewer validity bits than rows")
            if (self.bits[index >> 3] >> (index & 7)) & 1 == 0:
                return -1
        start = self.ends[index]
        end = self.ends[index + 1]
        if start < 0 or end < start or end > len(self.data):
            raise ValueError("the ends of a column are not positions in its data")
        self.start = start
        return end - start


class HeadersColumn:
    """A column of nullable lists of headers.

    Args:
        bits: validity, the least significant bit first; empty if nothing is null.
        ends: indexes of headers: where row 0 starts, then where each row ends.
        first: the index of row 0 in bits and ends.
        keys: of all headers.
        values: of all headers.
    """

    def __init__(
        self,
        bits: memoryview,
        ends: memoryview,
        first: int,
        keys: BytesColumn,
        values: BytesColumn,
    ) -> None:
        if first < 0:
            raise ValueError("a column cannot start below 0")
        self.bits = bits
        self.ends = ends
        self.first = first
        self.keys = keys
        self.values = values
        self.start = 0

    def find(self, row: int) -> int:
        """Return how many headers a row has; set `start` to the index of the first one.

        Raises:
            ValueError: there is no such row.
        """
        index = self.first + row
        if row < 0 or index >= len(self.ends) - 1:
            raise ValueError("a column has fewer rows than are asked for")
        if len(self.bits) > 0:
            if index >> 3 >= len(self.bits):
                raise ValueError("a column has fewer validity bits than rows")
            if (self.bits[index >> 3] >> (index & 7)) & 1 == 0:
                return 0
        start = self.ends[index]
        end = self.ends[index + 1]
        if start < 0 or end < start:
            raise ValueError("the ends of a column of lists do not rise")
        self.start = start
        return end - start


class RecordEncoder:
    """Writes records one after the other; the attributes are about the last call.

    Args:
        timestamps: 64 bits each, in ms since the epoch; one per row.
        offsets: 64 bits each, one per row; empty if they are consecutive.
        keys: None if all are null.
        values: None if all are null.
        headers: None if there are none.

    Attributes:
        position: in the target, after the last record.
        last_offset: of the last record.
        max_timestamp: of all records of the last call, -1 without any.
    """

    def __init__(
        self,
        timestamps: memoryview,
        offsets: memoryview,
        keys: BytesColumn | None,
        values: BytesColumn | None,
        headers: HeadersColumn | None,
    ) -> None:
        self.timestamps = timestamps
        self.offsets = offsets
        self.keys = keys
        self.values = values
        self.headers = headers
        self.position = 0
        self.last_offset = -1
        self.max_timestamp = -1
        self._target = memoryview(bytearray())

    def record_size_bytes(self, row: int, timestamp_delta: int, offset_delta: int) -> int:
        """Return the size of a record without its length field.

        Raises:
            ValueError: there is no such row, or a header has no key.

        See: R-30, R-38 (DefaultRecord.sizeOfBodyInBytes).
        """
        size_bytes = 1 + varlong_size_bytes(timestamp_delta) + varlong_size_bytes(offset_delta)
        size_bytes += sized_bytes(self.keys.find(row) if self.keys is not None else -1)
        size_bytes += sized_bytes(self.values.find(row) if self.values is not None else -1)
        headers = self.headers
        if headers is None:
            return size_bytes + 1
        left = headers.find(row)
        size_bytes += varlong_size_bytes(left)
        header = headers.start
        while left > 0:
            length = headers.keys.find(header)
            if length < 0:
                raise ValueError(f"row {row}: a header has no key")
            size_bytes += sized_bytes(length) + sized_bytes(headers.values.find(header))
            header += 1
            left -= 1
        return size_bytes

    def encode(
        self,
        row: int,
        end_row: int,
        base_offset: int,
        next_offset: int,
        base_timestamp: int,
        target: memoryview,
        at: int,
        end: int,
    ) -> int:
        """Write the records of some rows, until a whole record has no room.

        Args:
            row: the first row to write.
            end_row: the first row that is not to be written.
            base_offset: of the batch.
            next_offset: the offset of the first row; if there is a column of offsets, its minimum.
            base_timestamp: of the batch.
            target: written to; format B and contiguous.
            at: position of the first record in the target.
            end: position in the target that no record may exceed.

        Returns:
            The first row that was not written, because there was no room, or because its offset is
            too far from base_offset.

        Raises:
            ValueError: an offset does not rise, a timestamp is negative, or a column is invalid;
                nothing that this call has written counts.

        See: R-30, R-38, R-50, R-52 (DefaultRecord.writeTo, MemoryRecordsBuilder.appendWithOffset).
        """
        if at < 0 or end > len(target) or row < 0 or end_row > len(self.timestamps):
            raise ValueError("rows and positions must be those of the columns and the target")
        self.position = at
        self.max_timestamp = -1
        self._target = target
        while row < end_row:
            offset = next_offset
            if len(self.offsets) > 0:
                offset = self.offsets[row]
            if offset < next_offset:
                raise ValueError(f"row {row}: offset {offset} is not above {next_offset - 1}")
            if offset - base_offset > OFFSET_DELTA_MAX:
                break
            timestamp = self.timestamps[row]
            if timestamp < -1:
                raise ValueError(f"row {row}: the timestamp {timestamp} is negative")
            size_bytes = self.record_size_bytes(
                row, timestamp - base_timestamp, offset - base_offset
            )
            if size_bytes + varlong_size_bytes(size_bytes) > end - self.position:
                break
            self._put_number(size_bytes)
            self._put_record(row, timestamp - base_timestamp, offset - base_offset)
            if timestamp > self.max_timestamp:
                self.max_timestamp = timestamp
            self.last_offset = offset
            next_offset = offset + 1
            row += 1
        return row

    def _put_record(self, row: int, timestamp_delta: int, offset_delta: int) -> None:
        """Write a record without its length; there is room for it."""
        self._target[self.position] = 0
        self.position += 1
        self._put_number(timestamp_delta)
        self._put_number(offset_delta)
        self._put_bytes(self.keys, row)
        self._put_bytes(self.values, row)
        headers = self.headers
        left = headers.find(row) if headers is not None else 0
        self._put_number(left)
        if headers is not None:
            header = headers.start
            while left > 0:
                self._put_bytes(headers.keys, header)
                self._put_bytes(headers.values, header)
                header += 1
                left -= 1

    def _put_bytes(self, column: BytesColumn | None, row: int) -> None:
        """Write length and bytes, or the length -1 of null."""
        length = column.find(row) if column is not None else -1
        self._put_number(length)
        if column is not None and length > 0:
            copy_bytes(column.data, column.start, length, self._target, self.position)
            self.position += length

    def _put_number(self, value: int) -> None:
        """Write a zigzag varint, which is the same for 32 bits and for 64.

        See: R-22, R-25 (ByteUtils.writeVarint, ByteUtils.writeVarlong).
        """
        mask = 0xFFFFFFFFFFFFFFFF
        raw = value & mask
        raw = (raw << 1) & mask
        if value < 0:
            raw ^= mask
        while raw >= 0x80:
            self._target[self.position] = raw & 0x7F | 0x80
            self.position += 1
            raw >>= 7
        self._target[self.position] = raw
        self.position += 1


def varlong_size_bytes(value: int) -> int:
    """Return how many bytes a zigzag varint takes."""
    if value < 0:
        value = -(value + 1)
    size_bytes = 1
    value >>= 6
    while value > 0:
        size_bytes += 1
        value >>= 7
    return size_bytes


def sized_bytes(length: int) -> int:
    """Return the size of a length with the bytes that follow it; -1 is null."""
    if length < 0:
        return 1
    return varlong_size_bytes(length) + length


def assign_partitions(
    keys: BytesColumn, partition_count: int, unkeyed: int, target: memoryview
) -> None:
    """Choose partitions as Kafka's producer does: by key, and one partition for all null keys.

    Args:
        keys: one per row of the target.
        partition_count: above 0.
        unkeyed: the partition of null keys.
        target: 32 bits per row, written to.
    """
    row = 0
    while row < len(target):
        length = keys.find(row)
        if length < 0:
            target[row] = unkeyed
        else:
            hashed = murmur2_of(keys.data, keys.start, length)
            target[row] = (hashed & 0x7FFFFFFF) % partition_count
        row += 1


def murmur2_of(data: memoryview, start: int, length: int) -> int:
    """Hash some bytes as murmur2.murmur2 does."""
    mask = 0xFFFFFFFF
    factor = 0x5BD1E995
    hashed = 0x9747B28C ^ length
    position = start
    end = start + length
    while end - position >= 4:
        word = 0
        shift = 0
        while shift < 32:
            byte = data[position]
            word |= byte << shift
            shift += 8
            position += 1
        word = (word * factor) & mask
        word ^= word >> 24
        word = (word * factor) & mask
        hashed = (hashed * factor) & mask
        hashed ^= word
    if position < end:
        shift = 0
        while position < end:
            byte = data[position]
            hashed ^= byte << shift
            shift += 8
            position += 1
        hashed = (hashed * factor) & mask
    hashed ^= hashed >> 13
    hashed = (hashed * factor) & mask
    hashed ^= hashed >> 15
    return hashed
