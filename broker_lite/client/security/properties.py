"""Reads the properties about security of a Java client: `security.protocol`, `ssl.*`, `sasl.*`.

An error names the property, and never has its value if that may be a secret.
"""

from collections.abc import Mapping
from typing import Final

from broker_lite.client.client_properties import PROTOCOL
from broker_lite.client.security.logins import login_of
from broker_lite.client.security.secured import Secured
from broker_lite.errors import SettingsError

_SSL: Final = "SSL"
_SASL_SSL: Final = "SASL_SSL"
_SASL_PLAINTEXT: Final = "SASL_PLAINTEXT"
_PROTOCOLS: Final = ("PLAINTEXT", _SSL, _SASL_PLAINTEXT, _SASL_SSL)


def security_of(properties: Mapping[str, str]) -> Secured:
    """Return what connections do before their first request.

    Raises:
        SettingsError: a property is wrong or missing, or a file cannot be read.
    """
    protocol = properties.get(PROTOCOL, "").strip().upper()
    if protocol not in _PROTOCOLS:
        raise SettingsError(f"{PROTOCOL}={protocol}: must be one of {', '.join(_PROTOCOLS)}")
    tls, login = None, None
    if protocol in {_SSL, _SASL_SSL}:
        # imported only if needed, for a faster start
        from broker_lite.client.security.tls_properties import tls_of

        tls = tls_of(properties)
    if protocol in {_SASL_PLAINTEXT, _SASL_SSL}:
        login = login_of(properties)
    return Secured(tls, login)
