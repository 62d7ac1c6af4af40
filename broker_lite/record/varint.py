"""Variable-length integers: zigzag varint (32 bit) and varlong (64 bit), and the unsigned varint.

Base 128, least significant group first, bit 7 set on all bytes but the last. Signed values are
zigzag coded before that. Writers use the shortest form. Readers take any form of up to 5 (varlong:
10) bytes and drop the bits of the last byte that do not fit.

Rule: R-22, R-23, R-24, R-25 (ByteUtils).
"""

_VARINT_BITS = 35
_VARLONG_BITS = 70
_MASK_32 = 0xFFFFFFFF
_MASK_64 = 0xFFFFFFFFFFFFFFFF


class VarintError(ValueError):
    """A variable-length integer cannot be read."""


class VarintTooLong(VarintError):
    """Bit 7 is still set in the last byte allowed."""


class VarintTruncated(VarintError):
    """The buffer ends inside the integer."""


def encode_unsigned(value: int) -> bytes:
    """Encode without zigzag; value is 0 or more."""
    if value < 0x80:
        return bytes((value,))
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def encode_varint(value: int) -> bytes:
    """Encode a signed 32-bit value in 1 to 5 bytes."""
    return encode_unsigned(((value << 1) ^ (value >> 31)) & _MASK_32)


def encode_varlong(value: int) -> bytes:
    """Encode a signed 64-bit value in 1 to 10 bytes."""
    return encode_unsigned(((value << 1) ^ (value >> 63)) & _MASK_64)


def varint_size_bytes(value: int) -> int:
    """Return how many bytes encode_varint() would return, without encoding."""
    return _unsigned_size_bytes(((value << 1) ^ (value >> 31)) & _MASK_32)


def varlong_size_bytes(value: int) -> int:
    """Return how many bytes encode_varlong() would return, without encoding."""
    return _unsigned_size_bytes(((value << 1) ^ (value >> 63)) & _MASK_64)


def _unsigned_size_bytes(value: int) -> int:
    return max(1, (value.bit_length() + 6) // 7)


def decode_unsigned(buffer: bytes | memoryview, position: int, end: int) -> tuple[int, int]:
    """Read an unsigned varint of at most 5 bytes and 32 bits.

    Returns:
        The value and the position after it.

    Raises:
        VarintTooLong: more than 5 bytes.
        VarintTruncated: the integer is not complete before `end`.
    """
    raw, position = _decode(buffer, position, end, _VARINT_BITS)
    return raw & _MASK_32, position


def decode_varint(buffer: bytes | memoryview, position: int, end: int) -> tuple[int, int]:
    """Read a zigzag varint; for results and errors see decode_unsigned()."""
    raw, position = _decode(buffer, position, end, _VARINT_BITS)
    raw &= _MASK_32
    return (raw >> 1) ^ -(raw & 1), position


def decode_varlong(buffer: bytes | memoryview, position: int, end: int) -> tuple[int, int]:
    """Read a zigzag varlong of at most 10 bytes; for results and errors see decode_unsigned()."""
    raw, position = _decode(buffer, position, end, _VARLONG_BITS)
    raw &= _MASK_64
    return (raw >> 1) ^ -(raw & 1), position


def _decode(buffer: bytes | memoryview, position: int, end: int, bits_max: int) -> tuple[int, int]:
    raw = 0
    for shift in range(0, bits_max, 7):
        if position >= end:
            raise VarintTruncated("the buffer ends inside a varint")
        byte = buffer[position]
        position += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return raw, position
    raise VarintTooLong(f"the varint at {position - bits_max // 7} is longer than {bits_max // 7}")
