"""Walk the records of a v2 batch: the one per-record loop of a produce request.

Compiled in place by Cython with the types of scan.pxd; without a compiler this file runs as it is.
So that both mean the same, every integer is 64 bits wide there and masked here wherever Python's
would grow. Nothing is allocated by a declared length, nothing at or after `end` is read.

Two readers, as in Kafka. The full one (R-34) reads records whose bytes all matter: the declared
record length bounds every field and must be used up. The partial one (R-36) skips over keys, values
and headers of a decompressed stream and never looks at the declared record length.

The numbers returned as status are those of scan_status.ScanStatus.
"""


def read_varint(buffer: memoryview, position: int, end: int) -> tuple[int, int]:
    """Read a zigzag varint of at most 5 bytes.

    Returns:
        The value, and the position after it: -2 when the bytes end, -1 when it is too long. Of the
        fifth byte only four bits count.

    Rule: R-24 (ByteUtils.readVarint).
    """
    raw = 0
    shift = 0
    while position < end:
        byte = buffer[position]
        position += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            raw &= 0xFFFFFFFF
            return (raw >> 1) ^ -(raw & 1), position
        shift += 7
        if shift == 35:
            return 0, -1
    return 0, -2


def read_varlong(buffer: memoryview, position: int, end: int) -> tuple[int, int]:
    """Read a zigzag varlong of at most 10 bytes.

    Returns:
        As read_varint. Of the tenth byte only one bit counts.

    Rule: R-24 (ByteUtils.readVarlong).
    """
    raw = 0
    shift = 0
    while position < end:
        byte = buffer[position]
        position += 1
        if shift == 63:
            if byte >= 0x80:
                return 0, -1
            byte &= 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            value = (raw >> 1) ^ -(raw & 1)
            return value, position
        shift += 7
    return 0, -2


def read_record(
    buffer: memoryview, position: int, end: int, full_reader: bool
) -> tuple[int, int, int, int, int, int, int, int, int, int, int, int]:
    """Read the structure of one record.

    Args:
        buffer: plain records.
        position: of the record's length.
        end: where the batch, or the decompressed stream, ends.
        full_reader: R-34, else R-36.

    Returns:
        status, position after the record, declared length, attributes, timestamp delta, offset
        delta, key position, key length, value position, value length, position of the first header,
        header count. A length below 0 is null. Only the status counts when it is not 0.

    Rule: R-30, R-34, R-35, R-36 (DefaultRecord.readFrom, readPartiallyFrom).
    """
    attributes = 0
    timestamp_delta = 0
    offset_delta = 0
    key_position = 0
    key_length = 0
    value_position = 0
    value_length = 0
    headers_position = 0
    header_count = 0
    status = 2
    length, position = read_varint(buffer, position, end)
    # One pass of this loop is the record; break leaves with the status set last.
    while True:
        if position < 0:
            if position == -1:
                status = 3 if full_reader else 1
            break
        if full_reader:
            if length < 0:
                status = 1
                break
            if length > end - position:
                break
            end = position + length
            # The record is all there: whatever runs over its end contradicts the length.
            status = 1
        if position >= end:
            break
        attributes = buffer[position]
        timestamp_delta, position = read_varlong(buffer, position + 1, end)
        if position < 0:
            if position == -1:
                status = 1
            break
        offset_delta, position = read_varint(buffer, position, end)
        if position < 0:
            if position == -1:
                status = 1
            break
        key_length, position = read_varint(buffer, position, end)
        if position < 0:
            if position == -1:
                status = 1
            break
        key_position = position
        if key_length > 0:
            if key_length > end - position:
                break
            position += key_length
        value_length, position = read_varint(buffer, position, end)
        if position < 0:
            if position == -1:
                status = 1
            break
        value_position = position
        if value_length > 0:
            if value_length > end - position:
                break
            position += value_length
        header_count, position = read_varint(buffer, position, end)
        if position < 0:
            if position == -1:
                status = 1
            break
        if header_count < 0 or (full_reader and header_count > end - position):
            status = 1
            break
        headers_position = position
        # A header takes two bytes at least, so this ends long before a huge count.
        header = 0
        while header < header_count:
            size, position = read_varint(buffer, position, end)
            if position < 0 or size < 0:
                if position != -2:
                    status = 1
                break
            if size > end - position:
                break
            size, position = read_varint(buffer, position + size, end)
            if position < 0:
                if position == -1:
                    status = 1
                break
            if size > 0:
                if size > end - position:
                    break
                position += size
            header += 1
        if header < header_count:
            break
        if full_reader and position != end:
            status = 1
            break
        status = 0
        break
    return (
        status,
        position,
        length,
        attributes,
        timestamp_delta,
        offset_delta,
        key_position,
        key_length,
        value_position,
        value_length,
        headers_position,
        header_count,
    )


def scan_records(
    buffer: memoryview, start: int, end: int, count: int, base_timestamp: int, full_reader: bool
) -> tuple[int, int, int, int, int, int, bool]:
    """Read the structure of all records of a batch.

    Args:
        buffer: format B and contiguous.
        start: position of the first record.
        end: position after the last byte of the batch, or of the decompressed stream.
        count: how many records the header declares. Below 0 is invalid; with 0 nothing is read, not
            even whether bytes are left.
        base_timestamp: of the header; with the deltas it gives the record timestamps, in 64 bits.
        full_reader: R-34 for uncompressed batches and for records whose content is needed, R-36 for
            compressed batches that are kept as they are.

    Returns:
        status (ScanStatus), position after the last record read, records read, largest timestamp
        and -1 at least, smallest timestamp other than -1 (2**63 - 1 if there is none), number of
        null keys, whether the offset deltas are 0, 1, 2 and so on. After a failure the numbers are
        those of the records before it.

    Raises:
        ValueError: start and end are not positions in the buffer.

    Rule: R-37 (DefaultRecordBatch.iterator).
    """
    sign = 0x8000000000000000
    mask = 0xFFFFFFFFFFFFFFFF
    max_timestamp = -1
    min_timestamp = 0x7FFFFFFFFFFFFFFF
    null_keys = 0
    sequential = True
    records_read = 0
    status = 0
    position = start
    if start < 0 or end < start or end > len(buffer):
        raise ValueError("start and end are not positions in the buffer")
    if count < 0:
        status = 1
    base = base_timestamp & mask
    while records_read < count:
        record = read_record(buffer, position, end, full_reader)
        status = record[0]
        if status != 0:
            break
        position = record[1]
        timestamp_delta = record[4]
        wrapped = (base + timestamp_delta) & mask
        timestamp = (wrapped ^ sign) - sign
        if timestamp > max_timestamp:
            max_timestamp = timestamp
        if timestamp < min_timestamp and timestamp != -1:
            min_timestamp = timestamp
        if record[7] < 0:
            null_keys += 1
        if record[5] != records_read:
            sequential = False
        records_read += 1
    if status == 0 and count > 0 and position < end:
        status = 4
    return status, position, records_read, max_timestamp, min_timestamp, null_keys, sequential
