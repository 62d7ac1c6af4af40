"""Find the parts of the usual Produce request: one topic, one partition, no tagged fields.

Cython compiles this module with the types of only_partition.pxd; without a compiler it is plain
Python. What is found here is what produce.decode_produce_request() finds, in a tenth of the time.
Any other request, whole or not, is left to that function: nothing is refused here.

No index is checked by the compiler: each read is of a position that was compared with the size.
"""


def find_only_partition(
    frame: memoryview, position: int, by_id: bool
) -> tuple[int, int, int, int, int, int, int] | None:
    """Find the one partition of a Produce request of a flexible version.

    Args:
        frame: holds the body from position on; read only.
        position: where the body starts.
        by_id: the topic is given by its id (version 13), not by its name.

    Returns:
        acks; timeout in ms; start of the array of topics, and end of the partition's index in it;
        this index; start and end of the records. None if the request is of another form.

    See: P-178.
    """
    size = len(frame)
    # no transactional id, one topic, and a name of up to 126 bytes
    if position < 0 or size - position < 32:
        return None
    if frame[position] != 0 or frame[position + 7] != 2:
        return None
    acks = frame[position + 1]  # shifted as a variable, because an element has 8 bits in C
    acks = acks << 8 | frame[position + 2]
    timeout_ms = frame[position + 3]
    timeout_ms = timeout_ms << 8 | frame[position + 4]
    timeout_ms = timeout_ms << 8 | frame[position + 5]
    timeout_ms = timeout_ms << 8 | frame[position + 6]
    topics = position + 7
    position += 8
    if by_id:
        position += 16
    elif 0 < frame[position] < 128:
        position += frame[position]
    else:
        return None
    if size - position < 12 or frame[position] != 2:
        return None
    index = frame[position + 1]
    index = index << 8 | frame[position + 2]
    index = index << 8 | frame[position + 3]
    index = index << 8 | frame[position + 4]
    position += 5
    index_end = position
    length = 0
    shift = 0
    while shift < 28:
        byte = frame[position]
        position += 1
        length |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    end = position + length - 1
    if shift == 28 or length == 0 or size - end < 3:
        return None
    if frame[end] != 0 or frame[end + 1] != 0 or frame[end + 2] != 0:
        return None
    sign = 0x80000000  # a variable, because the number itself is no 64-bit integer in C
    return (
        (acks ^ 0x8000) - 0x8000,
        (timeout_ms ^ sign) - sign,
        topics,
        index_end,
        (index ^ sign) - sign,
        position,
        end,
    )
