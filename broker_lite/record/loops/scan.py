"""Walk the records of a v2 batch: the one per-record loop of a produce request.

Cython compiles this module with the types of scan.pxd; without a compiler it is plain Python. To
give the same results in both, every integer is 64 bits wide there and masked here wherever Python's
would grow. A declared length never causes an allocation, and nothing at or after the end is read.

There are two readers, as in Kafka. The full one (R-34) reads records whose bytes all matter: the
declared record length bounds every field and must be used up. The partial one (R-36) skips over
keys, values and headers of a decompressed stream and never looks at the declared record length.

A status is a number of scan_status.ScanStatus. A walk over many bytes releases the interpreter
lock; see lending.
"""

try:
    import cython
except ImportError:
    from broker_lite.record.loops import lending as cython

from broker_lite.record.loops.lending import LENT_BYTES_MIN
from broker_lite.record.loops.totals import RecordTotals


class RecordCursor:
    """Reads records one after the other; its fields are about the record that was read last.

    A length below 0 means null. After a status other than 0 the cursor cannot be used again.

    Args:
        buffer: plain records; format B and contiguous; read only.
        position: of the first record.
        end: position after the last byte of the batch, or of the decompressed stream.
        full_reader: True for the reader of R-34, False for that of R-36.

    Attributes:
        position: after the record; -2 if the bytes ended in a varint, -1 if one was too long.
        length: the record's declared length.
        headers_position: of the first header.

    Raises:
        ValueError: position and end are not positions in the buffer.

    Rule: R-30 (DefaultRecord).
    """

    def __init__(self, buffer: memoryview, position: int, end: int, full_reader: bool) -> None:
        if position < 0 or end < position or end > len(buffer):
            raise ValueError("position and end are not positions in the buffer")
        self.buffer = buffer
        self.position = position
        self.end = end
        self.full_reader = full_reader
        self.length = 0
        self.attributes = 0
        self.timestamp_delta = 0
        self.offset_delta = 0
        self.key_position = 0
        self.key_length = 0
        self.value_position = 0
        self.value_length = 0
        self.headers_position = 0
        self.header_count = 0

    def read_varint(self, end: int) -> int:
        """Read a zigzag varint of at most 5 bytes; only four bits of the fifth byte count.

        See: R-24 (ByteUtils.readVarint).
        """
        position = self.position
        if position < end:  # one byte, like nearly all varints
            byte = self.buffer[position]
            if byte < 0x80:
                self.position = position + 1
                return (byte >> 1) ^ -(byte & 1)
        raw = 0
        shift = 0
        while position < end:
            byte = self.buffer[position]
            position += 1
            if shift == 28:
                if byte >= 0x80:
                    self.position = -1
                    return 0
                byte &= 0x0F
            raw |= (byte & 0x7F) << shift
            if byte < 0x80:
                self.position = position
                return (raw >> 1) ^ -(raw & 1)
            shift += 7
        self.position = -2
        return 0

    def read_varlong(self, end: int) -> int:
        """Read a zigzag varlong of at most 10 bytes; only one bit of the tenth byte counts."""
        position = self.position
        if position < end:  # one byte, like nearly all varints
            byte = self.buffer[position]
            if byte < 0x80:
                self.position = position + 1
                value = (byte >> 1) ^ -(byte & 1)
                return value
        raw = 0
        shift = 0
        while position < end:
            byte = self.buffer[position]
            position += 1
            if shift == 63:
                if byte >= 0x80:
                    self.position = -1
                    return 0
                byte &= 1
            raw |= (byte & 0x7F) << shift
            if byte < 0x80:
                self.position = position
                value = (raw >> 1) ^ -(raw & 1)
                return value
            shift += 7
        self.position = -2
        return 0

    def skip(self, length: int, end: int) -> bool:
        """Skip a key or value; False if it is longer than the remaining bytes."""
        if length > 0:
            if length > end - self.position:
                return False
            self.position += length
        return True

    def read_record(self) -> int:
        """Read the structure of the next record and return its status.

        Rule: R-34, R-36 (DefaultRecord.readFrom, readPartiallyFrom).
        See: R-35.
        """
        end = self.end
        # The status if the bytes run out. Once the full reader knows that the whole record is
        # there, running out means that a field contradicts the declared length.
        ended = 2
        self.length = self.read_varint(end)
        if self.position < 0:
            if self.position == -2:
                return ended
            return 3 if self.full_reader else 1
        if self.full_reader:
            if self.length < 0:
                return 1
            if self.length > end - self.position:
                return ended
            end = self.position + self.length
            ended = 1
        if self.position >= end:
            return ended
        self.attributes = self.buffer[self.position]
        self.position += 1
        self.timestamp_delta = self.read_varlong(end)
        if self.position < 0:
            return ended if self.position == -2 else 1
        self.offset_delta = self.read_varint(end)
        if self.position < 0:
            return ended if self.position == -2 else 1
        self.key_length = self.read_varint(end)
        if self.position < 0:
            return ended if self.position == -2 else 1
        self.key_position = self.position
        if not self.skip(self.key_length, end):
            return ended
        self.value_length = self.read_varint(end)
        if self.position < 0:
            return ended if self.position == -2 else 1
        self.value_position = self.position
        if not self.skip(self.value_length, end):
            return ended
        self.header_count = self.read_varint(end)
        if self.position < 0:
            return ended if self.position == -2 else 1
        self.headers_position = self.position
        if self.header_count < 0:
            return 1
        if self.full_reader and self.header_count > end - self.position:
            return 1
        # A header takes at least two bytes, so the bytes run out long before a huge count does.
        header = 0
        while header < self.header_count:
            length = self.read_varint(end)
            if self.position < 0:
                return ended if self.position == -2 else 1
            if length < 0:
                return 1
            if not self.skip(length, end):
                return ended
            length = self.read_varint(end)
            if self.position < 0:
                return ended if self.position == -2 else 1
            if not self.skip(length, end):
                return ended
            header += 1
        if self.full_reader and self.position != end:
            return 1
        return 0


def walk(cursor: RecordCursor, totals: RecordTotals, count: int) -> int:
    """Read the records that are left of a batch, add them to the totals, and return the status.

    Rule: R-37 (DefaultRecordBatch.iterator).
    """
    if count < 0:
        return 1
    while totals.records_read < count:
        status = cursor.read_record()
        if status != 0:
            return status
        totals.add(cursor.position, cursor.timestamp_delta, cursor.offset_delta, cursor.key_length)
        totals.pass_usual(cursor.buffer, cursor.end, count)
        cursor.position = totals.position
    return 4 if count > 0 and totals.position < cursor.end else 0


def scan_records(
    buffer: memoryview, start: int, end: int, count: int, base_timestamp: int, full_reader: bool
) -> tuple[int, int, int, int, int, int, bool]:
    """Read the structure of all records of a batch.

    Args:
        buffer: plain records; format B and contiguous; read only.
        start: position of the first record.
        end: position after the last byte of the batch, or of the decompressed stream.
        count: how many records the header declares. Below 0 is invalid. With 0 nothing is read, and
            it is not checked whether bytes are left.
        base_timestamp: of the header; with the deltas it gives the record timestamps, in 64 bits.
        full_reader: True (R-34) for uncompressed batches and for records whose content is needed,
            False (R-36) for compressed batches that are kept unchanged.

    Returns:
        status (ScanStatus), position after the last record read, records read, the largest
        timestamp (at least -1), the smallest timestamp other than -1 (2**63 - 1 if there is none),
        number of null keys, whether the offset deltas are 0, 1, 2 and so on. After a failure the
        numbers are those of the records before it.

    Raises:
        ValueError: start and end are not positions in the buffer.

    Rule: R-37 (DefaultRecordBatch.iterator).
    """
    if start < 0 or end < start or end > len(buffer):
        raise ValueError("start and end are not positions in the buffer")
    totals = RecordTotals(start, base_timestamp)
    is_long = end - start > LENT_BYTES_MIN
    if is_long:
        with cython.nogil:
            totals.pass_usual(buffer, end, count)
    else:
        totals.pass_usual(buffer, end, count)
    if totals.records_read != count:
        cursor = RecordCursor(buffer, totals.position, end, full_reader)
        if is_long:
            with cython.nogil:
                status = walk(cursor, totals, count)
        else:
            status = walk(cursor, totals, count)
    else:
        status = 4 if count > 0 and totals.position < end else 0
    return (
        status,
        totals.position,
        totals.records_read,
        totals.max_timestamp,
        totals.min_timestamp,
        totals.null_keys,
        bool(totals.sequential),
    )
