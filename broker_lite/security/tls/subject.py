"""The subject of a certificate as a name, as Java's X500Principal writes it."""

from collections.abc import Iterator
from typing import Final

_SEQUENCE: Final = 0x30
_OBJECT_ID: Final = 0x06
_VERSION: Final = 0xA0
_LONG_FORM: Final = 0x80
_LENGTH_BYTES_MAX: Final = 4
_KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
# UTF8String, PrintableString, T61String, IA5String, UniversalString, BMPString
_ENCODINGS: Final = {
    0x0C: "utf-8",
    0x13: "latin-1",
    0x14: "latin-1",
    0x16: "latin-1",
    0x1C: "utf-32-be",
    0x1E: "utf-16-be",
}
_ESCAPED: Final = frozenset(',=+<>#;"\\')


def subject_of(certificate: bytes) -> str:
    """Return the subject of a certificate as an RFC 2253 name, the most specific part first.

    Args:
        certificate: an X.509 certificate in DER.

    Raises:
        ValueError: these are not the bytes of a certificate.

    See: X-38 (X500Principal.getName).
    """
    _, whole, _ = _element(certificate, _SEQUENCE)
    _, signed, _ = _element(whole, _SEQUENCE)
    parts = list(_elements(signed))
    first = 1 if parts and parts[0][0] == _VERSION else 0
    # after the version come serial number, algorithm, issuer and validity
    if len(parts) < first + 5:
        raise ValueError("the certificate has no subject")
    tag, subject, _ = parts[first + 4]
    if tag != _SEQUENCE:
        raise ValueError("the certificate has no subject")
    return ",".join(reversed([_relative_name(value) for _, value, _ in _elements(subject)]))


def _relative_name(attributes: bytes) -> str:
    return "+".join(_attribute(value) for _, value, _ in _elements(attributes))


def _attribute(attribute: bytes) -> str:
    found = list(_elements(attribute))
    if len(found) != 2 or found[0][0] != _OBJECT_ID:
        raise ValueError("the subject has an attribute without a type or value")
    object_id = _dotted(found[0][1])
    tag, value, encoded = found[1]
    keyword, encoding = _KEYWORDS.get(object_id), _ENCODINGS.get(tag)
    if keyword is None or encoding is None:
        return f"{keyword or object_id}=#{encoded.hex()}"
    return f"{keyword}={_escaped(value.decode(encoding))}"


def _escaped(text: str) -> str:
    start = len(text) - len(text.lstrip(" \r"))
    end = max(len(text.rstrip(" \r")), start)
    return "".join(
        f"\\{char}" if char in _ESCAPED or not start <= index < end else char
        for index, char in enumerate(text)
    ).replace("\0", "\\00")


def _dotted(encoded: bytes) -> str:
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


def _elements(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield tag, content and all bytes of each element."""
    while data:
        tag, content, size = _sized(data)
        yield tag, content, data[:size]
        data = data[size:]


def _element(data: bytes, wanted: int) -> tuple[int, bytes, int]:
    found = _sized(data)
    if found[0] != wanted:
        raise ValueError(f"tag {found[0]} stands where {wanted} is expected")
    return found


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
