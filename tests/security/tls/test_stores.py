"""Contexts from files and texts; the errors are for people, and have no secrets.

Also tests: broker_lite.security.tls.pkcs12, broker_lite.security.tls.store_files.
"""

import os
import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509 import load_pem_x509_certificate

from broker_lite.errors import SettingsError
from broker_lite.security.tls.stores import ServerContext, Store, server_context, stamps_of
from tests.security.tls.test_jks import kept
from tests.support.certificates import Certificates, write_certificates

_BOTH = ("TLSv1.2", "TLSv1.3")
_NOBODY = Store("PEM", None)


@pytest.fixture
def files(tmp_path: Path) -> Certificates:
    return write_certificates(tmp_path)


def _context(keys: Store, trust: Store = _NOBODY, auth: str = "none") -> ServerContext:
    return server_context(keys, trust, client_auth=auth, protocols=_BOTH)


def _pkcs12(pem: Path, secret: bytes = b"changeit") -> bytes:
    data = pem.read_bytes()
    key = load_pem_private_key(data, None)
    certificate = load_pem_x509_certificate(data)
    return pkcs12.serialize_key_and_certificates(
        b"one",
        key,  # type: ignore[arg-type]
        certificate,
        None,
        BestAvailableEncryption(secret),
    )


@pytest.mark.parametrize("kind", ["PKCS12", "JKS", "pkcs12"])
def test_a_key_store_of_java(files: Certificates, kind: str) -> None:
    store = files.server.with_suffix(".p12")
    store.write_bytes(_pkcs12(files.server))
    _context(Store(kind, str(store), "changeit"))
    with pytest.raises(SettingsError) as caught:
        _context(Store(kind, str(store), "hunter2"))
    assert str(caught.value) == (
        f"ssl.keystore.location: {store}: its password is wrong, or it is no PKCS12 store"
    )


def test_a_key_in_a_text(files: Certificates) -> None:
    pem = files.server.read_text()
    start = pem.index("-----BEGIN CERTIFICATE")
    _context(Store("PEM", None, key=pem[:start], certificates=pem[start:]))


def test_a_key_with_a_password(files: Certificates) -> None:
    pem = files.server.read_bytes()
    key = load_pem_private_key(pem, None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
    )
    files.server.write_bytes(key + pem[pem.index(b"-----BEGIN CERTIFICATE") :])
    _context(Store("PEM", str(files.server), key_password="secret"))
    for secret, problem in (("hunter2", "is wrong"), (None, "is missing")):
        with pytest.raises(SettingsError, match=f"ssl.key.password {problem}") as caught:
            _context(Store("PEM", str(files.server), key_password=secret))
        assert "hunter2" not in str(caught.value)


def test_key_and_certificate_do_not_match(files: Certificates) -> None:
    ours, other = files.server.read_text(), files.client.read_text()
    mark = "-----BEGIN CERTIFICATE"
    files.server.write_text(ours[: ours.index(mark)] + other[other.index(mark) :])
    with pytest.raises(SettingsError, match=r"private key and the certificate do not match$"):
        _context(Store("PEM", str(files.server)))


def test_there_is_no_key(files: Certificates) -> None:
    with pytest.raises(SettingsError, match=r"there is no private key in it$"):
        _context(Store("PEM", str(files.ca)))
    with pytest.raises(SettingsError, match=r"a TLS listener needs ssl.keystore.location"):
        _context(_NOBODY)


def test_a_store_that_cannot_be_read(files: Certificates, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        _context(Store("PEM", str(tmp_path / "none")))
    with pytest.raises(SettingsError, match="type BKS are not served"):
        _context(Store("BKS", str(files.server), "secret"))
    for data, problem in (
        (b"\xce\xce\xce\xce", "it is a store of the type JCEKS, which is not served"),
        (b"\0\0\0\2\0\0\0\x14", "it is a store of the type BKS, which is not served"),
        (files.server.read_bytes(), "it is PEM, so its type has to be PEM"),
        (b"garbage", "it is no key store"),
        (b"", "it is no key store"),
        (b"0garbage", "its password is wrong, or it is no PKCS12 store"),
        (b"x" * 5_000_000, "cannot be read: it has more than 4194304 bytes"),
    ):
        store = tmp_path / "store"
        store.write_bytes(data)
        with pytest.raises(SettingsError) as caught:
            _context(Store("JKS", str(store), "secret"))
        assert str(caught.value) == f"ssl.keystore.location: {store}: {problem}"
    for odd in (tmp_path, Path("/dev/zero"), tmp_path / "pipe"):
        if odd.name == "pipe":
            os.mkfifo(odd)
        with pytest.raises(SettingsError, match=r"cannot be read: (it is no file|Is a directory)"):
            _context(Store("JKS", str(odd), "secret"))
    with pytest.raises(SettingsError, match="embedded null byte"):
        _context(Store("PEM", "a\0b"))
    garbage = tmp_path / "garbage.pem"
    garbage.write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    with pytest.raises(SettingsError, match=r"garbage\.pem: "):
        _context(Store("PEM", str(garbage)))


def test_a_store_in_the_old_format_of_java(tmp_path: Path) -> None:
    for name in ("server.jks", "trust.jks", "other.jceks"):
        (tmp_path / name).write_bytes(kept(name))
    server = str(tmp_path / "server.jks")
    trust = Store("JKS", str(tmp_path / "trust.jks"), "changeit")
    for kind in ("JKS", "PKCS12"):
        keys = Store(kind, server, "changeit", key_password="keypass1")
        context = _context(keys, trust, "required")
        assert [entry.alias for entry in context.entries] == ["server"]
        assert context.cert_store_stats()["x509"] == 1
    _context(keys, Store("JKS", trust.location), "required")
    for store, problem in (
        (Store("JKS", server, "hunter2"), "its password is wrong, or it is damaged"),
        (
            Store("JKS", server, "changeit"),
            "the password of its private key (ssl.key.password) is wrong",
        ),
        (Store("JKS", trust.location, "changeit"), "there is no private key in it"),
        (
            Store("JKS", str(tmp_path / "other.jceks"), "changeit"),
            "it is a store of the type JCEKS, which is not served",
        ),
    ):
        with pytest.raises(SettingsError) as caught:
            _context(store)
        assert str(caught.value) == f"ssl.keystore.location: {store.location}: {problem}"


def test_a_store_is_known_by_its_entries_and_stamps(files: Certificates) -> None:
    keys, trust = Store("PEM", str(files.server)), Store("PEM", str(files.ca))
    context = _context(keys, trust)
    assert [entry.alias for entry in context.entries] == ["kafka"]
    assert context.has_trust
    assert not _context(keys).has_trust
    assert context.stamps == stamps_of(keys, trust)
    files.server.write_bytes(files.server.read_bytes())
    assert context.stamps != stamps_of(keys, trust)
    assert stamps_of(Store("PEM", "/none"), Store("PEM", "a\0b")) == (None, None)
    store = files.server.with_suffix(".p12")
    store.write_bytes(_pkcs12(files.server))
    assert [one.alias for one in _context(Store("JKS", str(store), "changeit")).entries] == ["one"]


def test_clients_certificates_x37(files: Certificates, tmp_path: Path) -> None:
    keys = Store("PEM", str(files.server))
    trust = Store("PEM", str(files.ca))
    assert _context(keys, trust).verify_mode is ssl.CERT_NONE
    context = _context(keys, trust, "required")
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert len(context.get_ca_certs()) == 1
    text = Store("PEM", None, certificates=files.ca.read_text())
    assert _context(keys, text, "requested").verify_mode is ssl.CERT_OPTIONAL
    assert _context(keys, _NOBODY, "requested").verify_mode is ssl.CERT_OPTIONAL
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing")
    with pytest.raises(SettingsError, match="there is no certificate in it"):
        _context(keys, Store("PEM", str(empty)), "required")


def test_versions_x37(files: Certificates) -> None:
    keys = Store("PEM", str(files.server))
    context = server_context(keys, _NOBODY, client_auth="none", protocols=["TLSv1.2"])
    assert context.minimum_version == context.maximum_version == ssl.TLSVersion.TLSv1_2
    for bad in (["TLSv1.1", "TLSv1.2"], []):
        with pytest.raises(SettingsError, match=r"only TLSv1.2 and TLSv1.3"):
            server_context(keys, _NOBODY, client_auth="none", protocols=bad)


def test_a_store_does_not_tell_its_password() -> None:
    assert "hunter2" not in repr(Store("PEM", "/a", "hunter2", "hunter2", "", "hunter2"))
