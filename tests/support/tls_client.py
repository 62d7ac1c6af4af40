"""A client of TLS that checks the certificate of a broker: Python's ssl."""

import socket
import ssl

from broker_lite.testing import Broker


def seen_by_python(broker: Broker, address: str = "") -> str:
    """What Python says of the certificate at an address of a secured broker, `fine` if nothing."""
    ca = str(broker.control("GET", "/v1/security/ca.pem"))
    return seen_with_ca(address or broker.bootstrap, ca)


def seen_with_ca(address: str, ca: str) -> str:
    """What Python says of the certificate at an address, if it trusts this CA only."""
    context = ssl.create_default_context(cadata=ca)
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), 10) as sock:
        try:
            context.wrap_socket(sock, server_hostname=host).close()
        except ssl.SSLCertVerificationError as error:
            return error.verify_message
    return "fine"
