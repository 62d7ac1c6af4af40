"""A CA and its certificates for tests, which are made once."""

import functools
from pathlib import Path
from typing import NamedTuple

import trustme


class Certificates(NamedTuple):
    """Files in PEM: the CA, the server's key and chain, those of a client called alice."""

    ca: Path
    server: Path
    client: Path


@functools.cache
def _made() -> tuple[trustme.CA, trustme.LeafCert, trustme.LeafCert]:
    ca = trustme.CA()
    server = ca.issue_cert("localhost", "127.0.0.1")
    client = ca.issue_cert("alice@example.org", common_name="alice", organization_name="acme")
    return ca, server, client


def write_certificates(folder: Path) -> Certificates:
    """Write the files into a folder."""
    ca, server, client = _made()
    found = Certificates(folder / "ca.pem", folder / "server.pem", folder / "client.pem")
    ca.cert_pem.write_to_path(str(found.ca))
    server.private_key_and_cert_chain_pem.write_to_path(str(found.server))
    client.private_key_and_cert_chain_pem.write_to_path(str(found.client))
    return found
