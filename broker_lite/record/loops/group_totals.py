"""Counts and sums of the records of v2 batches, by group, without making rows of them.

Cython compiles this module with the types of group_totals.pxd; without a compiler it is plain
Python. A group is a bucket of time and a part of all keys, each if it is wanted. The groups of one
bucket lie beside one another, so only a record of another bucket than the one before is looked up.
"""

from broker_lite.record.loops.scan import RecordCursor


class GroupTotals:
    """The totals of the groups met so far, in memory that does not grow.

    Args:
        buckets_max: how many buckets of time there is room for, at least 1.
        bucket_ms: width of a bucket; 0 for one bucket with all records.
        key_hashes: into so many parts the keys are divided by their hash, as Kafka's producer
            divides them among partitions; 0 for no parts.

    Attributes:
        buckets: how many buckets there are.
        slots: of each bucket: key_hashes and one for records without a key, or 1.
        starts: of each bucket, in ms.
        records, keys, key_bytes, values, value_bytes: of each slot; a null is no key or value.
        min_offset, max_offset, min_timestamp, max_timestamp: of each slot that has records.
    """

    def __init__(self, buckets_max: int, bucket_ms: int, key_hashes: int) -> None:
        if buckets_max < 1 or bucket_ms < 0 or key_hashes < 0:
            raise ValueError("a negative width or count, or no room")
        self.bucket_ms = bucket_ms
        self.key_hashes = key_hashes
        self.slots = key_hashes + 1 if key_hashes else 1
        self.buckets = 0
        self._places: dict[int, int] = {}
        self._last_start = 0
        self._last_place = -1
        size_bytes = 8 * buckets_max * self.slots
        self.starts = memoryview(bytearray(8 * buckets_max)).cast("q")
        self.records = memoryview(bytearray(size_bytes)).cast("q")
        self.keys = memoryview(bytearray(size_bytes)).cast("q")
        self.key_bytes = memoryview(bytearray(size_bytes)).cast("q")
        self.values = memoryview(bytearray(size_bytes)).cast("q")
        self.value_bytes = memoryview(bytearray(size_bytes)).cast("q")
        self.min_offset = memoryview(bytearray(size_bytes)).cast("q")
        self.max_offset = memoryview(bytearray(size_bytes)).cast("q")
        self.min_timestamp = memoryview(bytearray(size_bytes)).cast("q")
        self.max_timestamp = memoryview(bytearray(size_bytes)).cast("q")

    def add(
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
        skipped: int,
    ) -> int:
        """Add the records of a batch that measure_records() has found sound.

        Args:
            buffer: plain records; format B and contiguous; read only.
            start: position of the first record.
            end: position after the last byte of the records.
            count: how many records there are.
            base_offset: of the header.
            base_timestamp: of the header, in ms.
            append_timestamp: the timestamp of all records with LogAppendTime; -2 with CreateTime.
            first_offset: records before it are left out.
            end_offset: records at and after it are left out.
            skipped: so many records of the batch were added by an earlier call.

        Returns:
            How many records were read, with the skipped ones. If it is below count, there is no
            room for another bucket: the caller takes the totals, and adds the rest to new ones.

        Raises:
            ValueError: start and end are not positions in the buffer.

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
            offset = base_offset + cursor.offset_delta
            if read < skipped or offset < first_offset or offset >= end_offset:
                read += 1
                continue
            if append_timestamp == -2:
                wrapped = (base + cursor.timestamp_delta) & mask
                timestamp = (wrapped ^ sign) - sign
            else:
                timestamp = append_timestamp
            slot = self.place_of(timestamp)
            if slot < 0:
                break
            if self.key_hashes > 0:
                part = self.key_hashes
                if cursor.key_length >= 0:
                    hashed = murmur2_of(buffer, cursor.key_position, cursor.key_length)
                    part = (hashed & 0x7FFFFFFF) % self.key_hashes
                slot += part
            self.count_record(slot, offset, timestamp, cursor.key_length, cursor.value_length)
            read += 1
        return read

    def place_of(self, timestamp: int) -> int:
        """Return the first slot of the bucket of a timestamp; -1 if there is no room for it."""
        start = 0
        if self.bucket_ms > 0:
            start = timestamp - timestamp % self.bucket_ms
        if self._last_place >= 0 and start == self._last_start:
            return self._last_place
        place = self.look_up(start)
        if place >= 0:
            self._last_start = start
            self._last_place = place
        return place

    def look_up(self, start: int) -> int:
        """Return the first slot of a bucket by its start; -1 if there is no room for it."""
        found = self._places.get(start)
        if found is not None:
            place: int = found
            return place
        if self.buckets >= len(self.starts):
            return -1
        self.starts[self.buckets] = start
        place = self.buckets * self.slots
        self._places[start] = place
        self.buckets += 1
        return place

    def count_record(
        self, slot: int, offset: int, timestamp: int, key_length: int, value_length: int
    ) -> int:
        """Count a record in its slot, and return the slot; a length of -1 stands for null."""
        if self.records[slot] == 0:
            self.min_offset[slot] = offset
            self.max_offset[slot] = offset
            self.min_timestamp[slot] = timestamp
            self.max_timestamp[slot] = timestamp
        elif offset > self.max_offset[slot]:
            self.max_offset[slot] = offset
        elif offset < self.min_offset[slot]:
            self.min_offset[slot] = offset
        if timestamp > self.max_timestamp[slot]:
            self.max_timestamp[slot] = timestamp
        if timestamp < self.min_timestamp[slot]:
            self.min_timestamp[slot] = timestamp
        self.records[slot] += 1
        if key_length >= 0:
            self.keys[slot] += 1
            self.key_bytes[slot] += key_length
        if value_length >= 0:
            self.values[slot] += 1
            self.value_bytes[slot] += value_length
        return slot


def murmur2_of(buffer: memoryview, position: int, length: int) -> int:
    """Return the hash of some bytes by which Kafka's producer chooses a partition.

    Args:
        buffer: format B; has all the bytes.
        position: of the first byte.
        length: 0 or more.

    See: record/murmur2.py (Utils.murmur2).
    """
    mask = 0xFFFFFFFF
    factor = 0x5BD1E995
    hashed = 0x9747B28C ^ length
    end = position + length
    while end - position >= 4:
        word = buffer[position]
        word |= buffer[position + 1] << 8
        word |= buffer[position + 2] << 16
        word |= buffer[position + 3] << 24
        word = word * factor & mask
        word ^= word >> 24
        hashed = (hashed * factor & mask) ^ (word * factor & mask)
        position += 4
    if position < end:
        shift = 0
        while position < end:
            word = buffer[position]
            hashed ^= word << shift
            shift += 8
            position += 1
        hashed = hashed * factor & mask
    hashed ^= hashed >> 13
    hashed = hashed * factor & mask
    return hashed ^ hashed >> 15
