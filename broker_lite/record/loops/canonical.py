"""Tell whether the records of a batch have the bytes that a writer of the same records would write.

Cython compiles this module with the types of canonical.pxd; without a compiler it is plain Python.
"""

try:
    import cython
except ImportError:
    from broker_lite.record.loops import lending as cython

from broker_lite.record.loops.lending import LENT_BYTES_MIN
from broker_lite.record.loops.scan import RecordCursor


def are_canonical(buffer: memoryview, start: int, end: int, count: int) -> bool:
    """True if a writer of the same records would write the same bytes.

    That is: attributes 0, the shortest form of every varint, -1 for null, header keys in ASCII.
    Keys in other characters are mostly sound. For such records the caller rewrites the batch, and
    sees whether the bytes differ.

    Args:
        buffer: records that scan_records found sound with the full reader.
        start: position of the first record.
        end: position after the last byte.
        count: of the records.

    Raises:
        ValueError: start and end are not positions in the buffer.

    See: R-30 (DefaultRecord.writeTo).
    """
    cursor = RecordCursor(buffer, start, end, True)
    if end - start <= LENT_BYTES_MIN:
        return _skip_records(cursor, count)
    with cython.nogil:
        canonical = _skip_records(cursor, count)
    return canonical


def _skip_records(cursor: RecordCursor, count: int) -> bool:
    """Skip so many records; False at one that a writer would write in other bytes."""
    record = 0
    while record < count:
        if not _skip_record(cursor):
            return False
        record += 1
    return True


def _skip_record(cursor: RecordCursor) -> bool:
    """Skip a record; False if a writer would write its content in other bytes.

    See: R-30 (DefaultRecord.writeTo).
    """
    if not _has_shortest_varint(cursor, 5, 0x0F):
        return False
    cursor.read_varint(cursor.end)
    if cursor.position >= cursor.end or cursor.buffer[cursor.position] != 0:
        return False
    cursor.position += 1
    if not _has_shortest_varint(cursor, 10, 1):
        return False
    cursor.read_varlong(cursor.end)
    if not _has_shortest_varint(cursor, 5, 0x0F):
        return False
    cursor.read_varint(cursor.end)
    if not (_skip_bytes(cursor, False) and _skip_bytes(cursor, False)):
        return False
    if not _has_shortest_varint(cursor, 5, 0x0F):
        return False
    header_count = cursor.read_varint(cursor.end)
    header = 0
    while header < header_count:
        if not (_skip_bytes(cursor, True) and _skip_bytes(cursor, False)):
            return False
        header += 1
    return True


def _skip_bytes(cursor: RecordCursor, ascii_only: bool) -> bool:
    """Skip a length, -1 or more, and as many bytes; False if a writer would write others."""
    if not _has_shortest_varint(cursor, 5, 0x0F):
        return False
    length = cursor.read_varint(cursor.end)
    if length < -1:
        return False
    position = cursor.position
    if not cursor.skip(length, cursor.end):
        return False
    if ascii_only:
        while position < cursor.position:
            if cursor.buffer[position] >= 0x80:
                return False
            position += 1
    return True


def _has_shortest_varint(cursor: RecordCursor, bytes_max: int, last_byte_max: int) -> bool:
    """True if the next varint is the shortest form of its value, as a writer would write it.

    Args:
        cursor: before the varint; it is not moved.
        bytes_max: 5, or 10 for a varlong.
        last_byte_max: the largest last byte of a varint that long without surplus bits.

    See: R-23, R-24 (ByteUtils).
    """
    last = cursor.position
    while last < cursor.end and cursor.buffer[last] >= 0x80:
        last += 1
    if last >= cursor.end:
        return False
    size_bytes = last - cursor.position + 1
    if size_bytes == 1:
        return True
    if size_bytes < bytes_max:
        return cursor.buffer[last] != 0
    return size_bytes == bytes_max and 0 < cursor.buffer[last] <= last_byte_max
