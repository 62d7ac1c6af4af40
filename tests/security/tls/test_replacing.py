"""Which key stores may take the place of another; the texts are those of a Kafka 4.3.1."""

import ssl

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from broker_lite.security.tls.opened import Entry
from broker_lite.security.tls.replacing import Incompatible, check_replacement
from broker_lite.security.tls.stores import ServerContext
from tests.security.tls.test_names import certificate


def _context(*entries: Entry, has_trust: bool = False) -> ServerContext:
    context = ServerContext(ssl.PROTOCOL_TLS_SERVER)
    context.entries, context.has_trust = entries, has_trust
    return context


def _entry(common_name: str, *names: str, alias: str = "server") -> Entry:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    return Entry(alias, certificate(subject, *map(x509.DNSName, names)))


_OLD = _entry("a", "x", "y")


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (
            _context(_OLD),
            _context(_entry("b", "x", "y", alias="other")),
            "Keystore DistinguishedName does not match:  existing={alias=server, DN=CN=a},"
            " new={alias=other, DN=CN=b}",
        ),
        (
            _context(_OLD),
            _context(_entry("a", "y")),
            "Keystore SubjectAltNames do not match:  existing={alias=server, SAN=[[2, x], [2, y]]},"
            " new={alias=server, SAN=[[2, y]]}",
        ),
        (
            _context(_OLD),
            _context(_OLD, _OLD),
            "Keystore entries do not match, existing store contains 1 entries, new store contains"
            " 2 entries",
        ),
        (
            _context(_OLD),
            _context(_OLD, has_trust=True),
            "Cannot add SSL truststore to an existing listener for which no truststore was"
            " configured.",
        ),
    ],
)
def test_what_is_refused_x66(old: ServerContext, new: ServerContext, text: str) -> None:
    with pytest.raises(Incompatible) as caught:
        check_replacement(old, new, dn_may_change=False, san_may_change=False)
    assert str(caught.value) == text


def test_what_is_taken_x66() -> None:
    more, other, fewer = _entry("a", "z", "y", "x"), _entry("b", "x", "y"), _entry("a", "x")
    old = _context(_OLD, has_trust=True)
    check_replacement(old, _context(more), dn_may_change=False, san_may_change=False)
    check_replacement(old, _context(other), dn_may_change=True, san_may_change=False)
    check_replacement(old, _context(fewer), dn_may_change=False, san_may_change=True)
    check_replacement(
        old, _context(other, fewer, has_trust=True), dn_may_change=True, san_may_change=True
    )
