"""The frame around a message: a zero byte and four bytes of schema id, big-endian.

Protobuf messages have the path of their type behind the id: how many indexes, then each index, as
zigzag varints. The index of the first counts the messages of the file, that of the next the
messages inside of that one. A lone zero stands for the path [0].
"""

from typing import Final

from broker_lite.pipeline.registry.errors import BadMessage

MAGIC: Final = 0
HEADER_BYTES: Final = 5
INDEXES_MAX: Final = 32
"""Messages nested deeper than protoc's own limit are no messages."""

_VARINT_BYTES_MAX: Final = 5


def schema_id_of(message: bytes) -> int:
    """Return the schema id of a message, 0 to 2**32 - 1.

    Raises:
        BadMessage: it has no such frame.
    """
    if len(message) < HEADER_BYTES:
        raise BadMessage(f"has {len(message)} bytes, too few for a schema id")
    if message[0] != MAGIC:
        raise BadMessage(f"begins with the byte {message[0]}, not with 0 and a schema id")
    return int.from_bytes(message[1:HEADER_BYTES])


def message_indexes(message: bytes) -> tuple[tuple[int, ...], int]:
    """Return the path of a Protobuf message's type, and where its payload begins.

    Args:
        message: with a frame that schema_id_of() has accepted.

    Raises:
        BadMessage: the path is cut off, negative or longer than INDEXES_MAX.
    """
    count, position = _zigzag(message, HEADER_BYTES)
    if count == 0:
        return (0,), position
    if not 0 < count <= INDEXES_MAX:
        raise BadMessage(f"has {count} message indexes")
    indexes = []
    for _ in range(count):
        index, position = _zigzag(message, position)
        if index < 0:
            raise BadMessage(f"has the message index {index}")
        indexes.append(index)
    return tuple(indexes), position


def _zigzag(message: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(_VARINT_BYTES_MAX):
        if position >= len(message):
            raise BadMessage("ends within its message indexes")
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value >> 1 ^ -(value & 1), position
    raise BadMessage("has a message index of more than 5 bytes")
