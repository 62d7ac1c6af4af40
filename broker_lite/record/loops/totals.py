"""The sums over the records of a batch, and the quick walk over records of the usual form.

Cython compiles this module with the types of totals.pxd; without a compiler it is plain Python.

A record of the usual form is sound, and each of its numbers takes one or two bytes. Both readers of
scan.py find the same in it, so it does not matter here which of them is asked for. The quick walk
stops in front of any other record and says nothing about it: scan.py reads that one. A record of
100 bytes takes 100 instructions here and 300 there, because here the position is in a register.

No index is checked by the compiler: each read is of a position that was compared with an end.
"""


class RecordTotals:
    """The sums of a walk over the records of a batch; scan.scan_records() describes them.

    Attributes:
        position: after the last record that was read.
        records_read: how many have been read.
        max_timestamp: the largest one, at least -1.
        min_timestamp: the smallest one other than -1.
        null_keys: how many keys were null.
        sequential: whether the offset deltas were 0, 1, 2 and so on.
    """

    def __init__(self, position: int, base_timestamp: int) -> None:
        self.position = position
        self.base_timestamp = base_timestamp
        self.records_read = 0
        self.max_timestamp = -1
        self.min_timestamp = 0x7FFFFFFFFFFFFFFF
        self.null_keys = 0
        self.sequential = True

    def add(self, position: int, timestamp_delta: int, offset_delta: int, key_length: int) -> None:
        """Add a record that ends at a position.

        See: R-33 (the timestamp wraps around in 64 bits).
        """
        sign = 0x8000000000000000
        mask = 0xFFFFFFFFFFFFFFFF
        wrapped = ((self.base_timestamp & mask) + timestamp_delta) & mask
        timestamp = (wrapped ^ sign) - sign
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
        if timestamp < self.min_timestamp and timestamp != -1:
            self.min_timestamp = timestamp
        if key_length < 0:
            self.null_keys += 1
        if offset_delta != self.records_read:
            self.sequential = False
        self.position = position
        self.records_read += 1

    def pass_usual(self, buffer: memoryview, end: int, count: int) -> None:
        """Read records from the position on until one is not of the usual form.

        Args:
            buffer: plain records; read only.
            end: position after the last byte of the batch, or of the decompressed stream.
            count: how many records the batch has; no more are read.

        See: R-30, R-34, R-36.
        """
        position = self.position
        left = count - self.records_read
        # the numbers up to the key's length take at most nine bytes
        while left > 0 and end - position >= 9:
            length = buffer[position]
            position += 1
            if length >= 0x80:
                byte = buffer[position]
                position += 1
                length = length & 0x7F | byte << 7
            if length & 0x4001 or length >> 1 > end - position:
                return
            record_end = position + (length >> 1)
            timestamp = buffer[position + 1]
            position += 2
            if timestamp >= 0x80:
                byte = buffer[position]
                position += 1
                timestamp = timestamp & 0x7F | byte << 7
            offset = buffer[position]
            position += 1
            if offset >= 0x80:
                byte = buffer[position]
                position += 1
                offset = offset & 0x7F | byte << 7
            key = buffer[position]
            position += 1
            if key >= 0x80:
                byte = buffer[position]
                position += 1
                key = key & 0x7F | byte << 7
            if key & 1 == 0:
                position += key >> 1
            if (timestamp | offset | key) & 0x4000 or record_end - position < 2:
                return
            value = buffer[position]
            position += 1
            if value >= 0x80:
                byte = buffer[position]
                position += 1
                value = value & 0x7F | byte << 7
            if value & 1 == 0:
                position += value >> 1
            if value & 0x4000 or position >= record_end:
                return
            headers = buffer[position]
            position += 1
            if headers != 0:
                position = self.after_headers(buffer, headers, position, record_end)
            if position != record_end:
                return
            delta = (timestamp >> 1) ^ -(timestamp & 1)
            self.add(position, delta, (offset >> 1) ^ -(offset & 1), -(key & 1))
            left -= 1

    def after_headers(self, buffer: memoryview, headers: int, position: int, end: int) -> int:
        """Return the position after the headers of a record of the usual form, or -1.

        Args:
            buffer: plain records; read only.
            headers: their number, as the byte that stands in front of them.
            position: of the first one.
            end: position after the record.
        """
        if headers & 0x81:
            return -1
        while headers > 0:
            if end - position < 2:
                return -1
            key = buffer[position]
            position += 1 + (key >> 1)
            if key & 0x81 or end - position < 1:
                return -1
            value = buffer[position]
            position += 1
            if value >= 0x80:
                if end - position < 1:
                    return -1
                byte = buffer[position]
                position += 1
                value = value & 0x7F | byte << 7
                if value & 0x4000:
                    return -1
            if value & 1 == 0:
                position += value >> 1
            headers -= 2
        return position
