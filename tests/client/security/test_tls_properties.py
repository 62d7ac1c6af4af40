import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509 import load_pem_x509_certificate

from broker_lite.client import Client
from broker_lite.client.security.tls_properties import tls_of, trust_of
from broker_lite.errors import SettingsError
from tests.support.certificates import write_certificates
from tests.support.secured_broker import SecuredBroker

PEM = {"ssl.keystore.type": "PEM", "ssl.truststore.type": "PEM"}


def test_stores_of_java(broker: SecuredBroker, tmp_path: Path) -> None:
    ca = load_pem_x509_certificate(broker.files.ca.read_bytes())
    trust, keys = tmp_path / "trust.jks", tmp_path / "keys.p12"
    secret = BestAvailableEncryption(b"changeit")
    entry = pkcs12.PKCS12Certificate(ca, b"ca")
    trust.write_bytes(pkcs12.serialize_java_truststore([entry], secret))
    pem = broker.files.client.read_bytes()
    key: Any = load_pem_private_key(pem, None)
    certificate = load_pem_x509_certificate(pem)
    keys.write_bytes(pkcs12.serialize_key_and_certificates(b"me", key, certificate, None, secret))
    properties = {
        "security.protocol": "SSL",
        "ssl.truststore.location": str(trust),
        "ssl.truststore.password": "changeit",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(keys),
        "ssl.keystore.password": "changeit",
        "ssl.key.password": "changeit",
    }
    with Client(broker.addresses["MTLS"], properties=properties) as client:
        client.metadata([])
    with pytest.raises(SettingsError, match="its password is wrong") as caught:
        tls_of({**properties, "ssl.truststore.password": "hunter2"})
    assert "hunter2" not in str(caught.value)


def test_stores_in_texts(broker: SecuredBroker) -> None:
    pem = broker.files.client.read_text()
    start = pem.index("-----BEGIN CERTIFICATE")
    properties = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": broker.files.ca.read_text(),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": pem[:start],
        "ssl.keystore.certificate.chain": pem[start:],
    }
    with Client(broker.addresses["MTLS"], properties=properties) as client:
        client.metadata([])


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("ssl.truststore.location", "/nosuch", "cannot be read: No such file or directory"),
        ("ssl.keystore.location", "/nosuch", "cannot be read: No such file or directory"),
        ("ssl.truststore.certificates", "none", "there is no certificate in it that can be read"),
        ("ssl.enabled.protocols", "TLSv1", "'TLSv1' is not served, only TLSv1.2 and TLSv1.3"),
        ("ssl.endpoint.identification.algorithm", "ldaps", "must be https, or empty for no check"),
        ("ssl.cipher.suites", "TLS_AES_128_GCM_SHA256", "it is not supported"),
    ],
)
def test_properties_that_cannot_be_used(name: str, text: str, reason: str) -> None:
    with pytest.raises(SettingsError) as caught:
        tls_of({**PEM, name: text})
    assert str(caught.value).startswith(name)
    assert str(caught.value).endswith(reason)


def test_a_text_without_a_key() -> None:
    texts = {"ssl.keystore.key": "none", "ssl.keystore.certificate.chain": "none"}
    with pytest.raises(SettingsError, match=r"^ssl\.keystore\.key: there is no private key in it$"):
        tls_of({**PEM, **texts})


def test_servers_of_https(tmp_path: Path) -> None:
    files = write_certificates(tmp_path)
    properties = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(files.ca)}
    context = trust_of(properties)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert len(context.get_ca_certs()) == 1
