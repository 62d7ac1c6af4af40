"""Wrong certificates: what is wrong with each, and that all else is right."""

import ssl
import time
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from broker_lite.errors import SettingsError
from broker_lite.security.one_word.faulty_certificate import faulty_keys
from broker_lite.security.one_word.keep import Kept, prepare, read_kept
from broker_lite.settings import load_settings
from broker_lite.settings.declared.one_word_settings import CERTIFICATE_FAULTS, CertificateFault

NAMES = ["127.0.0.1", "localhost"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder: Path = tmp_path_factory.mktemp("kept")
    prepare(load_settings(None, {}, {"broker.lite.security": "ssl"}), folder, time.time())
    found = read_kept(folder)
    assert found is not None
    return found


def _own(kept: Kept) -> bytes:
    return ssl.PEM_cert_to_DER_cert(kept.server[kept.server.index("-----BEGIN CERT") :])


def _made(fault: CertificateFault, kept: Kept | None, own: bytes = b"") -> x509.Certificate:
    store = faulty_keys(fault, NAMES, own, kept)
    assert store.certificates is not None
    assert store.key is not None
    assert store.key.startswith("-----BEGIN PRIVATE KEY-----")
    return x509.load_pem_x509_certificate(store.certificates.encode())


@pytest.mark.parametrize("fault", CERTIFICATE_FAULTS)
def test_each_has_what_its_name_says_and_nothing_else(fault: CertificateFault, kept: Kept) -> None:
    made = _made(fault, kept, _own(kept))
    ca = x509.load_pem_x509_certificate(kept.ca.encode())
    found = set()
    if made.not_valid_after_utc.timestamp() < time.time():
        found.add("expired")
    if made.not_valid_before_utc.timestamp() > time.time():
        found.add("not_yet_valid")
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    if "localhost" not in names.get_values_for_type(x509.DNSName):
        found.add("wrong_host")
    if made.issuer == made.subject:
        made.verify_directly_issued_by(made)
        found.add("self_signed")
    elif made.issuer != ca.subject:
        with pytest.raises((InvalidSignature, ValueError)):
            made.verify_directly_issued_by(ca)
        found.add("unknown_ca")
    else:
        made.verify_directly_issued_by(ca)
    assert found == {fault}
    assert not made.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


@pytest.mark.parametrize("fault", CERTIFICATE_FAULTS)
@pytest.mark.parametrize("has_kept", [True, False])
def test_without_the_key_of_the_ca_two_can_be_made(
    fault: CertificateFault, has_kept: bool, kept: Kept
) -> None:
    known = kept if has_kept else None  # its CA has not signed the certificate of the listener
    if fault in ("self_signed", "unknown_ca"):
        assert _made(fault, known, b"another")
        return
    reason = f"fault {fault} needs the key .* without it there are self_signed and unknown_ca"
    with pytest.raises(SettingsError, match=reason):
        faulty_keys(fault, NAMES, b"another", known)
