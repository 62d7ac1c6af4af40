"""The elements of DER, the encoding of certificates."""

from collections.abc import Iterator
from typing import Final

BOOLEAN: Final = 0x01
SEQUENCE: Final = 0x30
OBJECT_ID: Final = 0x06
OCTETS: Final = 0x04
_LONG_FORM: Final = 0x80
_LENGTH_BYTES_MAX: Final = 4
_OBJECT_ID_BYTES_MAX: Final = 64


def elements(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield tag, content and all bytes of each element.

    Raises:
        ValueError: these bytes are no elements.
    """
    while data:
        tag, content, size = _sized(data)
        yield tag, content, data[:size]
        data = data[size:]


def element(data: bytes, wanted: int) -> bytes:
    """Return the content of the first element.

    Raises:
        ValueError: it has another tag than the wanted one, or these bytes are no element.
    """
    tag, content, _ = _sized(data)
    if tag != wanted:
        raise ValueError(f"tag {tag} stands where {wanted} is expected")
    return content


def dotted(encoded: bytes) -> str:
    """Return an object id as people write it.

    Raises:
        ValueError: it is empty, or longer than any that is in use.
    """
    if len(encoded) > _OBJECT_ID_BYTES_MAX:
        raise ValueError("an object id is too long")
    numbers, number = [], 0
    for byte in encoded:
        number = number << 7 | byte & 0x7F
        if byte < _LONG_FORM:
            numbers.append(number)
            number = 0
    if not numbers:
        raise ValueError("an object id is empty")
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))


def _sized(data: bytes) -> tuple[int, bytes, int]:
    """Return tag and content of the first element, and its size with both."""
    if len(data) < 2:
        raise ValueError("the bytes end within an element")
    tag, length, start = data[0], data[1], 2
    if length >= _LONG_FORM:
        count = length - _LONG_FORM
        if not 0 < count <= _LENGTH_BYTES_MAX:
            raise ValueError("an element has no length")
        start += count
        length = int.from_bytes(data[2:start], "big")
    if start + length > len(data):
        raise ValueError("the bytes end within an element")
    return tag, data[start : start + length], start + length
