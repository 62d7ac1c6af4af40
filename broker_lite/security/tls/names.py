"""The names in a certificate as Java prints them, for the texts of errors."""

from typing import Final

from broker_lite.security.tls.der import (
    BOOLEAN,
    OBJECT_ID,
    OCTETS,
    SEQUENCE,
    dotted,
    element,
    elements,
)
from broker_lite.security.tls.subject import KEYWORDS, Part, name_of, relative_names, signed_parts

_EXTENSIONS: Final = 0xA3
_ALTERNATIVE_NAMES: Final = bytes.fromhex("551d11")  # 2.5.29.17
DNS_NAME: Final = 2
"""The kind of an alternative name that is the name of a host."""
ADDRESS: Final = 7
"""The kind of an alternative name that is the address of a host."""
_TEXTS: Final = (1, DNS_NAME, 6)
_DIRECTORY_NAME: Final = 4
_REGISTERED_ID: Final = 8
# Java's words that are not those of RFC 2253.
_MORE_KEYWORDS: Final = {
    "1.2.840.113549.1.9.1": "EMAILADDRESS",
    "2.5.4.4": "SURNAME",
    "2.5.4.5": "SERIALNUMBER",
    "2.5.4.12": "T",
    "2.5.4.42": "GIVENNAME",
    "2.5.4.43": "INITIALS",
    "2.5.4.44": "GENERATION",
    "2.5.4.46": "DNQ",
}
_QUOTED: Final = frozenset(',+=\n<>#;\\"')


def printed_subject(certificate: bytes) -> str:
    """Return the subject of a certificate as X500Principal.toString() of Java.

    Raises:
        ValueError: these are not the bytes of a certificate.
    """
    names = relative_names(signed_parts(certificate)[0])
    return ", ".join(reversed([" + ".join(map(_printed, parts)) for parts in names]))


def alternative_names(certificate: bytes) -> list[tuple[int, str]]:
    """Return the kinds and texts of the alternative names of a certificate, in their order.

    Raises:
        ValueError: these are not the bytes of a certificate.
    """
    for tag, content, _ in signed_parts(certificate)[1]:
        if tag != _EXTENSIONS:
            continue
        for _, extension, _ in elements(element(content, SEQUENCE)):
            parts = [part for part in elements(extension) if part[0] != BOOLEAN]
            if len(parts) == 2 and parts[0][:2] == (OBJECT_ID, _ALTERNATIVE_NAMES):
                names = element(element(parts[1][2], OCTETS), SEQUENCE)
                return [_name(tag & 0x1F, value) for tag, value, _ in elements(names)]
    return []


def _printed(part: Part) -> str:
    keyword = KEYWORDS.get(part.kind) or _MORE_KEYWORDS.get(part.kind) or f"OID.{part.kind}"
    return f"{keyword}=" + (f"#{part.encoded.hex()}" if part.text is None else _quoted(part.text))


def _name(kind: int, value: bytes) -> tuple[int, str]:
    if kind in _TEXTS:
        return kind, value.decode("latin-1")
    if kind == ADDRESS:
        return kind, _address(value)
    if kind == _REGISTERED_ID:
        return kind, dotted(value)
    if kind == _DIRECTORY_NAME:
        return kind, name_of(element(value, SEQUENCE))
    return kind, value.hex()


def _address(value: bytes) -> str:
    if len(value) == 4:
        return ".".join(map(str, value))
    return ":".join(f"{int.from_bytes(value[i : i + 2], 'big'):x}" for i in range(0, len(value), 2))


def _quoted(text: str) -> str:
    """Put a text into quotes if Java does."""
    if not (_QUOTED.intersection(text) or text != text.strip(" ")):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
