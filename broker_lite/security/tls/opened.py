"""What is in a key store or a trust store, once it is open."""

import ssl
from typing import Final, NamedTuple

_BEGIN: Final = "-----BEGIN CERTIFICATE-----"
_END: Final = "-----END CERTIFICATE-----"


class Entry(NamedTuple):
    """A certificate of a store, with its name in the store.

    Attributes:
        alias: the name.
        certificate: in DER; of a private key the first one of its chain.
    """

    alias: str
    certificate: bytes


class Opened(NamedTuple):
    """An open store.

    Attributes:
        pem: the private key if there is one, its chain, and trusted certificates.
        entries: what the store is compared by with another.
    """

    pem: bytes
    entries: tuple[Entry, ...]

    def __repr__(self) -> str:  # type: ignore[explicit-override]
        return f"Opened({len(self.entries)} entries)"


def first_entry(pem: bytes, alias: str) -> tuple[Entry, ...]:
    """Return the first certificate of a PEM as the only entry; none if there is none."""
    text = pem.decode("ascii", "replace")
    start, end = text.find(_BEGIN), text.find(_END)
    if not 0 <= start < end:
        return ()
    try:
        return (Entry(alias, ssl.PEM_cert_to_DER_cert(text[start : end + len(_END)])),)
    except ValueError:
        return ()
