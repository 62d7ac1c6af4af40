"""The subject of a certificate as a name, as Java's X500Principal writes it."""

from typing import Final, NamedTuple

from broker_lite.security.tls.der import OBJECT_ID, SEQUENCE, dotted, element, elements

_VERSION: Final = 0xA0
KEYWORDS: Final = {
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
"""The words of RFC 2253 for types of attributes."""

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
    return name_of(signed_parts(certificate)[0])


def name_of(name: bytes) -> str:
    """Return the content of a name in DER as an RFC 2253 name.

    Raises:
        ValueError: these are not the bytes of a name.
    """
    names = ["+".join(map(_written, parts)) for parts in relative_names(name)]
    return ",".join(reversed(names))


def signed_parts(certificate: bytes) -> tuple[bytes, list[tuple[int, bytes, bytes]]]:
    """Return the content of the subject of a certificate, and the parts that come after it.

    Raises:
        ValueError: these are not the bytes of a certificate.
    """
    parts = list(elements(element(element(certificate, SEQUENCE), SEQUENCE)))
    first = 1 if parts and parts[0][0] == _VERSION else 0
    # after the version come serial number, algorithm, issuer and validity
    if len(parts) < first + 5 or parts[first + 4][0] != SEQUENCE:
        raise ValueError("the certificate has no subject")
    return parts[first + 4][1], parts[first + 5 :]


class Part(NamedTuple):
    """One attribute of a name.

    Attributes:
        kind: the object id of its type.
        text: its value; None if it is no text.
        encoded: its value in DER.
    """

    kind: str
    text: str | None
    encoded: bytes


def relative_names(name: bytes) -> list[list[Part]]:
    """Return the parts of a name in their order; most have one attribute.

    Raises:
        ValueError: these are not the bytes of a name.
    """
    return [[_part(value) for _, value, _ in elements(one)] for _, one, _ in elements(name)]


def _part(attribute: bytes) -> Part:
    found = list(elements(attribute))
    if len(found) != 2 or found[0][0] != OBJECT_ID:
        raise ValueError("the subject has an attribute without a type or value")
    tag, value, encoded = found[1]
    encoding = _ENCODINGS.get(tag)
    return Part(dotted(found[0][1]), None if encoding is None else value.decode(encoding), encoded)


def _written(part: Part) -> str:
    keyword = KEYWORDS.get(part.kind)
    if keyword is None or part.text is None:
        return f"{keyword or part.kind}=#{part.encoded.hex()}"
    return f"{keyword}={_escaped(part.text)}"


def _escaped(text: str) -> str:
    start = len(text) - len(text.lstrip(" \r"))
    end = max(len(text.rstrip(" \r")), start)
    return "".join(
        f"\\{char}" if char in _ESCAPED or not start <= index < end else char
        for index, char in enumerate(text)
    ).replace("\0", "\\00")
