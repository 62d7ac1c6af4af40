"""A listener of SASL_SSL beside that of SASL_PLAINTEXT, for both brokers."""

from typing import Final

from tests.differential.compare_sasl import PREFIX, PROTOCOLS, SASL_SETTINGS
from tests.support.certificates import Certificates
from tests.support.reference_kafka import free_port

NAME: Final = "CLOSED"
_PREFIX: Final = "listener.name.closed."


def tls_listener(files: Certificates) -> tuple[str, dict[str, str]]:
    """Return its address on a free port, and the settings that a broker needs for it."""
    settings = {
        _PREFIX + "ssl.keystore.type": "PEM",
        _PREFIX + "ssl.keystore.location": str(files.server),
        "ssl.client.auth": "required",  # without the prefix: no client is asked for a certificate
        "listener.security.protocol.map": f"{PROTOCOLS},{NAME}:SASL_SSL",
    }
    for name, text in SASL_SETTINGS.items():
        if name.startswith(PREFIX):
            settings[_PREFIX + name.removeprefix(PREFIX)] = text
    return f"{NAME}://127.0.0.1:{free_port()}", settings
