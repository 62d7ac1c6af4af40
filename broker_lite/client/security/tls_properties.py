"""Reads the properties of TLS, `ssl.*`."""

import ssl
from collections.abc import Mapping
from typing import Final

from broker_lite.client.security.hand_shake import Tls
from broker_lite.errors import SettingsError
from broker_lite.security.tls.stores import Store, client_context

_VERSIONS: Final = "TLSv1.2,TLSv1.3"
_KIND: Final = "JKS"
_ALGORITHM: Final = "ssl.endpoint.identification.algorithm"
_HTTPS: Final = "https"
_NOT_SERVED: Final = ("ssl.cipher.suites", "ssl.provider", "ssl.engine.factory.class")


def tls_of(properties: Mapping[str, str]) -> Tls:
    """Return what the TLS connections of a client share.

    Raises:
        SettingsError: a property is wrong, or a file cannot be read.
    """
    for name in _NOT_SERVED:
        if properties.get(name, "").strip():
            raise SettingsError(f"{name}: it is not supported")
    algorithm = properties.get(_ALGORITHM, _HTTPS).strip().lower()
    if algorithm not in {_HTTPS, ""}:
        raise SettingsError(f"{_ALGORITHM}={algorithm}: must be {_HTTPS}, or empty for no check")
    keys = _store(properties, "keystore", key="key", certificates="certificate.chain")
    trust = _store(properties, "truststore", certificates="certificates")
    versions = _given(properties, "ssl.enabled.protocols") or _VERSIONS
    context = client_context(
        keys,
        trust or Store(_KIND, None),
        checks_host=bool(algorithm),
        protocols=[each.strip() for each in versions.split(",") if each.strip()],
    )
    return Tls(context, has_certificate=keys is not None)


def trust_of(properties: Mapping[str, str]) -> ssl.SSLContext:
    """Return the context for a server of HTTPS, whose name is always checked.

    Raises:
        SettingsError: a property of the trust store is wrong, or its file cannot be read.
    """
    trust = _store(properties, "truststore", certificates="certificates")
    return client_context(
        None, trust or Store(_KIND, None), checks_host=True, protocols=_VERSIONS.split(",")
    )


def _store(
    properties: Mapping[str, str], which: str, *, certificates: str, key: str = ""
) -> Store | None:
    """Return a store; None if no property names one."""
    prefix = f"ssl.{which}."
    store = Store(
        kind=(_given(properties, f"{prefix}type") or _KIND).strip(),
        location=_given(properties, f"{prefix}location"),
        password=_given(properties, f"{prefix}password"),
        key=_given(properties, f"{prefix}{key}") if key else None,
        certificates=_given(properties, prefix + certificates),
        key_password=_given(properties, "ssl.key.password") if key else None,
    )
    if store.location is None and store.key is None and store.certificates is None:
        return None
    return store


def _given(properties: Mapping[str, str], name: str) -> str | None:
    return properties.get(name) or None
