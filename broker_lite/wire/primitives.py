"""The primitive encodings below every message: varints, tagged fields, arrays of numbers.

The generated codecs inline the common case of each of these (a length of one byte, no tags) and
call this module for the rest. Everything is big-endian.

A difference to Kafka: a request closes the connection if it has a text that is not UTF-8 and would
be longer than 32,767 bytes with U+FFFD in place of its wrong bytes. Kafka carries the request out
and then fails to repeat the text in its answer.

A difference to Kafka: a request with more than 16 tagged fields in one place closes the connection
(P-34).

Rule: P-20, P-22 to P-27, P-29, P-30.
See: P-21, P-28.
"""

from collections.abc import Callable, Mapping
from struct import Struct
from struct import error as struct_error
from typing import Any, Final, NoReturn, TypeAlias

Buffer: TypeAlias = bytes | memoryview

ZERO_UUID: Final = bytes(16)
STRING_BYTES_MAX: Final = 0x7FFF  # of both string forms; Kafka checks it for compact ones, too
GROWS_ABOVE: Final = STRING_BYTES_MAX // 3  # see check_text()
ARRAY_SHORT_MAX: Final = 16
TAGS_MAX: Final = 16
"""The most tagged fields in one place: several times as many as any message has. A frame of 100 MB
has room for 50,000,000 of two bytes each, and reading those takes half a minute."""

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")

# half as dear as bytes() of a tuple
_TWO_BYTES: Final = Struct("BB").pack
_ONE_BYTE: Final = tuple(bytes((value,)) for value in range(128))

# reading past the end of a buffer raises these
UNDERFLOW: Final = (IndexError, struct_error)


class DecodeError(ValueError):
    """Bytes that are not a valid message.

    Rule: P-08.
    """


class EncodeError(ValueError):
    """The version cannot carry the value, or the value has the wrong type. Always a bug of ours.

    See: P-33.
    """


def invalid_length(field: str, length: int) -> NoReturn:
    """Raise for a length that is null where null is not allowed, or above the remaining bytes.

    Raises:
        DecodeError: always.

    Rule: P-34, P-08.
    """
    raise DecodeError(f"{field}: length {length} is not valid here")


def check_text(field: str, text: str) -> None:
    """Refuse a text that has become longer than a string may be.

    Each byte that is not UTF-8 is decoded to U+FFFD, which is three bytes long. Such a text could
    not be repeated in an answer, and that would only show after the request was carried out.

    Args:
        field: the name of the field.
        text: a text of more than GROWS_ABOVE bytes; a shorter one cannot become too long.

    Raises:
        DecodeError: the text has become too long.

    Rule: P-08, P-23, P-24.
    """
    if len(text.encode("utf-8")) > STRING_BYTES_MAX:
        raise DecodeError(f"{field}: not UTF-8, and too long with U+FFFD in place of wrong bytes")


def too_many(field: str, count: int) -> NoReturn:
    """Raise for more elements than one message may have.

    Raises:
        DecodeError: always.

    Rule: P-34, P-08.
    """
    raise DecodeError(f"{field}: {count} are more than one request may have")


def read_uvarint(data: Buffer, position: int) -> tuple[int, int]:
    """Read an unsigned varint as Kafka does: at most 5 bytes, into a *signed* 32-bit number.

    Returns:
        The value and the position after it. A value of 2^31 or more comes back negative, so that
        it ends up as an invalid length, as in Kafka.

    Raises:
        DecodeError: more than 5 bytes.
        IndexError: the buffer ends inside the varint.

    Rule: P-22 (ByteUtils.readUnsignedVarint).
    """
    return read_uvarint_rest(data, position + 1, data[position])


def read_uvarint_rest(data: Buffer, position: int, first: int) -> tuple[int, int]:
    """Read the rest of an unsigned varint after its first byte.

    Args:
        data: the buffer.
        position: of the second byte.
        first: the first byte; returned unchanged if it has no continuation bit.

    Returns:
        The value and the position after it, see read_uvarint.

    Raises:
        DecodeError: more than 5 bytes.
        IndexError: the buffer ends inside the varint.

    Rule: P-22.
    """
    # not a loop, because most lengths of records take this path with two or three bytes
    if first < 128:
        return first, position
    byte = data[position]
    value = first & 0x7F | (byte & 0x7F) << 7
    if byte < 128:
        return value, position + 1
    byte = data[position + 1]
    value |= (byte & 0x7F) << 14
    if byte < 128:
        return value, position + 2
    byte = data[position + 2]
    value |= (byte & 0x7F) << 21
    if byte < 128:
        return value, position + 3
    byte = data[position + 3]
    if byte > 127:
        raise DecodeError("varint is longer than 5 bytes")
    value = (value | byte << 28) & 0xFFFFFFFF
    return (value if value < 0x80000000 else value - 0x100000000), position + 4


def encode_uvarint(value: int) -> bytes:
    """Encode an unsigned varint of up to 32 bits.

    Raises:
        EncodeError: the value is negative or has more than 32 bits.

    Rule: P-22.
    """
    if 0 <= value < 0x80:
        return _ONE_BYTE[value]
    if 0 < value < 0x4000:
        return _TWO_BYTES(value & 0x7F | 0x80, value >> 7)
    if not 0 < value <= 0xFFFFFFFF:
        raise EncodeError(f"{value} is not an unsigned 32-bit number")
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def read_string(data: Buffer, position: int) -> tuple[str, int]:
    """Read a string with an int16 length.

    Returns:
        The text and the position after it.

    Raises:
        DecodeError: the length is negative (null) or reaches past the end.
        struct.error: the buffer ends inside the length.

    Rule: P-23.
    """
    length: int = _INT16.unpack_from(data, position)[0]
    position += 2
    end = position + length
    if length < 0 or end > len(data):
        invalid_length("string", length)
    text = str(data[position:end], "utf-8", "replace")
    if length > GROWS_ABOVE:
        check_text("string", text)
    return text, end


def read_compact_string(data: Buffer, position: int) -> tuple[str, int]:
    """Read a compact string.

    Returns:
        The text and the position after it.

    Raises:
        DecodeError: the length means null, is larger than Kafka allows, or reaches past the end.
        IndexError: the buffer ends inside the length.

    Rule: P-24.
    """
    length: int = data[position]
    position += 1
    if length > 127:
        length, position = read_uvarint_rest(data, position, length)
    end = position + length - 1
    if not 0 < length <= STRING_BYTES_MAX + 1 or end > len(data):
        invalid_length("string", length - 1)
    text = str(data[position:end], "utf-8", "replace")
    if length > GROWS_ABOVE:
        check_text("string", text)
    return text, end


def encode_string(text: str, *, flexible: bool) -> bytes:
    """Encode a string, compact in flexible versions.

    Raises:
        EncodeError: more than 32,767 bytes.

    Rule: P-23, P-24.
    """
    encoded = text.encode()
    length = len(encoded)
    if length > STRING_BYTES_MAX:
        raise EncodeError("a string is too long")
    return (encode_uvarint(length + 1) if flexible else _INT16.pack(length)) + encoded


def encode_nullable_string(text: str | None, *, flexible: bool) -> bytes:
    """Encode a string or null, compact in flexible versions.

    Raises:
        EncodeError: see encode_string().

    Rule: P-23, P-24.
    """
    if text is None:
        return b"\0" if flexible else b"\xff\xff"
    return encode_string(text, flexible=flexible)


def encode_count(count: int, *, flexible: bool) -> bytes:
    """Encode the number of elements of an array or of bytes, -1 for null; compact if flexible.

    Rule: P-25 to P-27.
    """
    return encode_uvarint(count + 1) if flexible else _INT32.pack(count)


def check_tag_count(count: int) -> None:
    """Refuse more tagged fields than any message has.

    Raises:
        DecodeError: there are more.

    Rule: P-34.
    """
    if count > TAGS_MAX:
        too_many("tagged fields", count)


def skip_tags(data: Buffer, position: int) -> int:
    """Return the position after tagged fields, without reading them.

    Raises:
        DecodeError: a size reaches past the end, or there are too many.
        IndexError: the buffer ends inside the tagged fields.

    Rule: P-29, P-30, P-34.
    """
    count: int = data[position]
    if count == 0:
        return position + 1
    count, position = read_uvarint_rest(data, position + 1, count)
    check_tag_count(count)
    for _ in range(count):
        position = read_tag(data, position)[2]
    return position


def read_tags(
    data: Buffer, position: int, count: int
) -> tuple[list[tuple[int, bytes]] | None, int]:
    """Read the tagged fields of a struct that knows none.

    Args:
        data: the buffer.
        position: after the count.
        count: number of tagged fields.

    Returns:
        The tags with their raw bytes in the order of the wire, and the position after them.

    Raises:
        DecodeError: a size reaches past the end, or there are too many.
        IndexError: the buffer ends inside a tag or size.

    Rule: P-29, P-30, P-34.
    """
    check_tag_count(count)
    tags = []
    for _ in range(count):
        tag, position, end = read_tag(data, position)
        tags.append((tag, bytes(data[position:end])))
        position = end
    return tags or None, position


def read_tag(data: Buffer, position: int) -> tuple[int, int, int]:
    """Read the tag and size in front of one tagged field.

    Returns:
        The tag, the position of its data and the position after its data.

    Raises:
        DecodeError: the size is negative or reaches past the end.
        IndexError: the buffer ends inside the tag or size.

    Rule: P-29, P-34.
    """
    tag, position = read_uvarint(data, position)
    size, position = read_uvarint(data, position)
    end = position + size
    if size < 0 or end > len(data):
        raise DecodeError(f"tag {tag}: size {size} reaches past the end")
    return tag, position, end


def encode_tags(
    known: list[tuple[int, bytes]] | None, unknown: list[tuple[int, bytes]] | None
) -> bytes:
    """Encode the tagged fields of a struct in the order of their tags, with their count.

    Raises:
        EncodeError: the same tag twice.

    Rule: P-29.
    """
    tags = sorted([*(known or ()), *(unknown or ())], key=_tag_of)
    parts = [encode_uvarint(len(tags))]
    previous = -1
    for tag, content in tags:
        if tag == previous:
            raise EncodeError(f"tag {tag} occurs twice")
        previous = tag
        parts += (encode_uvarint(tag), encode_uvarint(len(content)), content)
    return b"".join(parts)


def _tag_of(entry: tuple[int, bytes]) -> int:
    return entry[0]


# Format characters and element sizes of the fixed-width types (P-20, P-21).
FIXED_FORMATS: Final[Mapping[str, tuple[str, int]]] = {
    "bool": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
    "uuid": ("16s", 16),
}


def array_unpackers(format_character: str) -> tuple[Callable[..., tuple[Any, ...]], ...]:
    """Return the readers of arrays of 0 to 15 numbers; almost all arrays are that short.

    Returns:
        One `unpack_from` for each element count.
    """
    return tuple(Struct(f">{n}{format_character}").unpack_from for n in range(ARRAY_SHORT_MAX))


def array_packers(prefix: str, format_character: str) -> tuple[Callable[..., bytes], ...]:
    """Return the writers of arrays of 0 to 15 numbers with their count in front.

    Args:
        prefix: format of the count: "B" or "i".
        format_character: format of one number.

    Returns:
        One `pack` for each element count.
    """
    return tuple(Struct(f">{prefix}{n}{format_character}").pack for n in range(ARRAY_SHORT_MAX))
