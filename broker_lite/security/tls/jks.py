"""Reads a key store in Java's old format JKS.

The file is a list of private keys with their chains and of trusted certificates, and then a digest
over the password and all of it. A private key is hidden by a stream of SHA-1 digests, each over the
password and the one before. All of it is weak by today's measure, and many people still have it.
"""

import hashlib
import struct
from base64 import encodebytes
from typing import Final, NamedTuple

from broker_lite.security.tls.der import OBJECT_ID, OCTETS, SEQUENCE, dotted, element, elements
from broker_lite.security.tls.opened import Entry, Opened

MAGIC: Final = b"\xfe\xed\xfe\xed"
_VERSIONS: Final = (1, 2)
_KEY: Final = 1
_CERTIFICATE: Final = 2
_DIGEST_BYTES: Final = 20
_ENTRIES_MAX: Final = 10_000
# What Java's digest is salted with.
_SALT: Final = b"Mighty Aphrodite"
_JAVA_S_PROTECTION: Final = "1.3.6.1.4.1.42.2.17.1.1"
_X509: Final = "X.509"


class UnreadableStore(ValueError):
    """A store cannot be read; the text says why, without a secret."""


class _HiddenKey(NamedTuple):
    hidden: bytes
    chain: list[bytes]


class _Reader:
    """Reads the parts of a store one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def take(self, count: int) -> bytes:
        start, end = self._position, self._position + count
        if end > len(self._data):
            raise UnreadableStore("it is damaged")
        self._position = end
        return self._data[start:end]

    def number(self, size_bytes: int = 4) -> int:
        return int.from_bytes(self.take(size_bytes), "big")

    def block(self) -> bytes:
        return self.take(self.number())

    def text(self) -> str:
        return self.take(self.number(2)).decode("utf-8", "replace")

    def certificate(self, version: int) -> bytes:
        """Read a certificate; the first version of the format has no word for its type."""
        if version > 1 and self.text() != _X509:
            raise UnreadableStore("it has a certificate that is not X.509")
        return self.block()

    def is_at_end(self) -> bool:
        return self._position == len(self._data)


def read_jks(data: bytes, password: str | None, key_password: str | None) -> Opened:
    """Read a store.

    Args:
        data: the whole file.
        password: of the store; without one the digest is not checked, as in Java.
        key_password: of its private key; None for the store's.

    Raises:
        UnreadableStore: it is damaged, or a password is wrong.
    """
    body, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    if password is not None and _digest(password, body) != digest:
        raise UnreadableStore("its password is wrong, or it is damaged")
    reader = _Reader(body)
    reader.take(len(MAGIC))
    version, count = reader.number(), reader.number()
    if version not in _VERSIONS or count > _ENTRIES_MAX:
        raise UnreadableStore("it is damaged")
    entries, trusted, key = [], [], None
    for _ in range(count):
        kind, alias, _created = reader.number(), reader.text(), reader.take(8)
        if kind == _KEY:
            hidden = _HiddenKey(reader.block(), _chain(reader, version))
            key = key or hidden
            entries += [Entry(alias, one) for one in hidden.chain[:1]]
        elif kind == _CERTIFICATE:
            trusted.append(reader.certificate(version))
            entries.append(Entry(alias, trusted[-1]))
        else:
            raise UnreadableStore("it is damaged")
    if not reader.is_at_end():
        raise UnreadableStore("it is damaged")
    parts = []
    if key is not None and (secret := password if key_password is None else key_password):
        parts.append(_pem("PRIVATE KEY", _shown(key.hidden, secret)))
        trusted = key.chain + trusted
    parts += [_pem("CERTIFICATE", one) for one in trusted]
    return Opened(b"".join(parts), tuple(entries))


def _chain(reader: _Reader, version: int) -> list[bytes]:
    count = reader.number()
    if count > _ENTRIES_MAX:
        raise UnreadableStore("it is damaged")
    return [reader.certificate(version) for _ in range(count)]


def _digest(password: str, body: bytes) -> bytes:
    return hashlib.sha1(password.encode("utf-16-be") + _SALT + body).digest()  # noqa: S324 - Java's


def _shown(hidden: bytes, password: str) -> bytes:
    """Return a private key in DER (PKCS8).

    Raises:
        UnreadableStore: the password is wrong, or it is hidden in another way.
    """
    try:
        algorithm, secret = (one for _, one, _ in elements(element(hidden, SEQUENCE)))
        how = dotted(element(algorithm, OBJECT_ID))
        protected = element(_octets(secret), OCTETS)
    except ValueError:
        raise UnreadableStore("its private key is damaged") from None
    if how != _JAVA_S_PROTECTION:
        raise UnreadableStore("its private key is protected in another way than JKS has")
    secret_bytes = password.encode("utf-16-be")
    digest, rest = protected[:_DIGEST_BYTES], protected[_DIGEST_BYTES:-_DIGEST_BYTES]
    stream = bytearray()
    while len(stream) < len(rest):
        digest = hashlib.sha1(secret_bytes + digest).digest()  # noqa: S324 - Java's
        stream += digest
    number = int.from_bytes(rest, "big") ^ int.from_bytes(stream[: len(rest)], "big")
    shown = number.to_bytes(len(rest), "big")
    if hashlib.sha1(secret_bytes + shown).digest() != protected[-_DIGEST_BYTES:]:  # noqa: S324
        raise UnreadableStore("the password of its private key (ssl.key.password) is wrong")
    return shown


def _octets(content: bytes) -> bytes:
    return struct.pack(">BBI", OCTETS, 0x84, len(content)) + content


def _pem(label: str, der: bytes) -> bytes:
    return b"-----BEGIN %b-----\n%b-----END %b-----\n" % (
        label.encode(),
        encodebytes(der),
        label.encode(),
    )
