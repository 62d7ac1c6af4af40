"""Find the keys and values in a batch, for reading a log of state, which needs nothing else of it.

Cython compiles this module with the types of locate.pxd; without a compiler it is plain Python.
"""

from broker_lite.record.loops.scan import RecordCursor


def locate_keys_and_values(
    buffer: memoryview, start: int, end: int, count: int
) -> tuple[int, list[tuple[int, int, int, int]]]:
    """Find where the key and the value of each record of a batch are.

    Args:
        buffer: plain records; format B and contiguous; read only.
        start: position of the first record.
        end: position after the last byte of the batch, or of the decompressed stream.
        count: how many records the header declares; below 0 is invalid.

    Returns:
        status (ScanStatus); and for each record before a failure the start and end of its key, and
        the start and end of its value. A start of -1 means null.

    Raises:
        ValueError: start and end are not positions in the buffer.

    See: R-34, R-37 (DefaultRecordBatch.iterator).
    """
    cursor = RecordCursor(buffer, start, end, True)
    found = []
    status = 0
    read = 0
    if count < 0:
        status = 1
    while read < count:
        status = cursor.read_record()
        if status != 0:
            break
        read += 1
        key_start = cursor.key_position
        key_end = key_start + cursor.key_length
        if cursor.key_length < 0:
            key_start = -1
        value_start = cursor.value_position
        value_end = value_start + cursor.value_length
        if cursor.value_length < 0:
            value_start = -1
        found.append((key_start, key_end, value_start, value_end))
    if status == 0 and count > 0 and cursor.position < end:
        status = 4
    return status, found
