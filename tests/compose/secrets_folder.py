"""The folder that people mount at /etc/kafka/secrets: stores, their passwords, a JAAS file."""

from pathlib import Path

from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509 import load_pem_x509_certificate

from broker_lite.security.tls.jks import read_jks
from tests.security.tls.test_jks import kept
from tests.support.certificates import Certificates, write_certificates

_JAAS = """\
KafkaServer {
   org.apache.kafka.common.security.plain.PlainLoginModule required
   username="admin"
   password="admin-secret"
   user_admin="admin-secret"
   user_alice="alice-secret";
};
Client {};
"""


def make_secrets(folder: Path) -> Certificates:
    """Fill a folder; return the certificates for clients."""
    folder.mkdir()
    files = write_certificates(folder)
    pem = files.server.read_bytes()
    secret = BestAvailableEncryption(b"changeit")
    ca = load_pem_x509_certificate(files.ca.read_bytes())
    key_store = pkcs12.serialize_key_and_certificates(
        b"kafka",
        load_pem_private_key(pem, None),  # type: ignore[arg-type]
        load_pem_x509_certificate(pem),
        [ca],
        secret,
    )
    trust_store = pkcs12.serialize_java_truststore([pkcs12.PKCS12Certificate(ca, b"ca")], secret)
    for name, data in {
        "kafka.pem": pem,
        "kafka.keystore.jks": key_store,
        "kafka.truststore.jks": trust_store,
        "keystore_creds": b"changeit\n",
        "truststore_creds": b"changeit\n",
        "old.keystore.jks": kept("server.jks"),
        "old.truststore.jks": kept("trust.jks"),
        "old.ca.pem": read_jks(kept("trust.jks"), "changeit", None).pem,
        "old_keystore_creds": b"changeit\n",
        "old_key_creds": b"keypass1\n",
        "kafka_server_jaas.conf": _JAAS.encode(),
    }.items():
        (folder / name).write_bytes(data)
    return files
