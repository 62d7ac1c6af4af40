"""A CA and its certificates for tests, which are made once.

Private keys are in PKCS 8, the only form that Java reads.
"""

import functools
import ssl
from pathlib import Path
from typing import NamedTuple

import trustme
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)


class Certificates(NamedTuple):
    """Files in PEM: the CA, the server's key and chain, those of a client called alice."""

    ca: Path
    server: Path
    client: Path


@functools.cache
def _ca() -> trustme.CA:
    return trustme.CA()


@functools.cache
def _made() -> tuple[bytes, bytes, bytes]:
    ca = _ca()
    server = ca.issue_cert("localhost", "127.0.0.1")
    client = ca.issue_cert("alice@example.org", common_name="alice", organization_name="acme")
    return ca.cert_pem.bytes(), _key_and_chain(server), _key_and_chain(client)


def _key_and_chain(leaf: trustme.LeafCert) -> bytes:
    key = load_pem_private_key(leaf.private_key_pem.bytes(), None)
    return b"".join(
        (
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
            *(blob.bytes() for blob in leaf.cert_chain_pems),
        )
    )


def write_certificates(folder: Path) -> Certificates:
    """Write the files into a folder."""
    found = Certificates(folder / "ca.pem", folder / "server.pem", folder / "client.pem")
    for path, pem in zip(found, _made(), strict=True):
        path.write_bytes(pem)
    return found


def write_server(path: Path, *names: str, unit: str = "unit", common_name: str = "broker") -> bytes:
    """Write a key and its chain in PEM, signed by the same CA; return the certificate in DER.

    Those with the same unit and common name have the same subject.
    """
    made = _ca().issue_cert(
        *names,
        organization_name="acme",
        organization_unit_name=unit,
        common_name=common_name,
    )
    path.write_bytes(_key_and_chain(made))
    return ssl.PEM_cert_to_DER_cert(made.cert_chain_pems[0].bytes().decode())
