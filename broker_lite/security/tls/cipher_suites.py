"""The cipher suites of a listener: names as Java and IANA have them, for OpenSSL.

A difference to Kafka: of the suites of TLS 1.3, `ssl.cipher.suites` has to name
TLS_AES_256_GCM_SHA384 or none, because Python cannot choose among them. A client that has agreed on
one that is not named is closed after its hand-shake.
"""

import re
import ssl
from collections.abc import Sequence
from typing import Final

from broker_lite.errors import SettingsError

_NAME: Final = "ssl.cipher.suites"
_OF_TLS_1_3: Final = frozenset(
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}
)
# OpenSSL takes it first where the server prefers, and nearly all clients have it.
_FIRST: Final = "TLS_AES_256_GCM_SHA384"
_OLDER: Final = re.compile(
    r"TLS_(?P<keys>ECDHE_ECDSA|ECDHE_RSA|DHE_RSA|RSA)_WITH_"
    r"(?:AES_(?P<bits>128|256)_(?P<mode>GCM|CBC|CCM|CCM_8)(?:_(?P<hash>SHA\d*))?"
    r"|(?P<chacha>CHACHA20_POLY1305_SHA256))"
)


def limit_suites(context: ssl.SSLContext, names: Sequence[str]) -> frozenset[str]:
    """Limit a context to cipher suites, and to the versions of TLS that have them.

    Args:
        context: its versions are limited already.
        names: of IANA; none for no limit.

    Returns:
        The suites of TLS 1.3 to which its clients have to be held; empty if there is no limit.

    Raises:
        SettingsError: a name is unknown, or no version is left; one line.

    Rule: X-68.
    """
    if not names:
        return frozenset()
    newer = _OF_TLS_1_3.intersection(names)
    older = [_openssl_name(name) for name in names if name not in newer]
    has_older = context.minimum_version < ssl.TLSVersion.TLSv1_3
    has_newer = context.maximum_version > ssl.TLSVersion.TLSv1_2
    if not (older and has_older) and not (newer and has_newer):
        raise SettingsError(f"{_NAME}: no version in ssl.enabled.protocols has one of them")
    if older:
        context.set_ciphers(":".join(older))
    if not (older and has_older):
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    if not (newer and has_newer):
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    elif _FIRST not in newer:
        raise SettingsError(f"{_NAME}: of TLS 1.3 it has to name {_FIRST} or none")
    context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    return newer if newer != _OF_TLS_1_3 else frozenset()


def _openssl_name(name: str) -> str:
    found = _OLDER.fullmatch(name)
    if found is not None:
        keys = "" if found["keys"] == "RSA" else found["keys"].replace("_", "-") + "-"
        if found["chacha"]:
            cipher = "CHACHA20-POLY1305"
        else:
            parts = [f"AES{found['bits']}", found["mode"].replace("_", ""), found["hash"]]
            cipher = "-".join(part for part in parts if part and part != "CBC")
        if f"{keys}{cipher}" in _known():
            return f"{keys}{cipher}"
    raise SettingsError(f"{_NAME}: {name} is unknown or not served")


def _known() -> set[str]:
    """Return what OpenSSL has and takes at its level of security."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("ALL")
    return {cipher["name"] for cipher in context.get_ciphers()}
