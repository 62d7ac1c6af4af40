"""Contexts of TLS from key stores and trust stores.

Files of the type PEM are read here. PKCS12 is read in a child process, because the library for it
takes 40 ms and 12 MB, and the broker needs it once. The child gives back PEM over a pipe. No key
lies on a disk on its way: Python's ssl module reads it from memory that has a descriptor.
"""

import os
import ssl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.errors import SettingsError

_CHILD: Final = "broker_lite.security.tls.pkcs12"
_CHILD_S: Final = 30
_PEM: Final = "PEM"
# Java reads PKCS12 in a store of the type JKS, too: keytool writes it since Java 9.
_PKCS12_TYPES: Final = ("PKCS12", "JKS")
_JKS_MAGIC: Final = b"\xfe\xed\xfe\xed"
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


class Store(NamedTuple):
    """A key store or trust store.

    Attributes:
        kind: PEM, PKCS12 or JKS.
        location: of the file; None if there is none.
        password: of the file; None if there is none.
        key: PEM of a private key that is given as text.
        certificates: PEM of its chain, or of the CAs of a trust store, given as text.
        key_password: of the private key.
    """

    kind: str
    location: str | None
    password: str | None = None
    key: str | None = None
    certificates: str | None = None
    key_password: str | None = None

    def __repr__(self) -> str:  # type: ignore[explicit-override]
        return f"Store({self.kind}, {self.location})"


def server_context(
    keys: Store, trust: Store, *, client_auth: str, protocols: Sequence[str]
) -> ssl.SSLContext:
    """Make the context of a listener.

    Args:
        keys: the server's key and certificate.
        trust: the CAs of clients' certificates; the system's if it is empty.
        client_auth: none, requested or required.
        protocols: TLSv1.2, TLSv1.3 or both.

    Raises:
        SettingsError: a store cannot be used; one line without a secret.

    Rule: X-37.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _limit_versions(context, protocols)
    context.options |= ssl.OP_NO_RENEGOTIATION
    _load_keys(context, keys)
    context.verify_mode = _CLIENT_AUTH[client_auth]
    if context.verify_mode is not ssl.CERT_NONE:
        _load_trust(context, trust)
    return context


def _limit_versions(context: ssl.SSLContext, protocols: Sequence[str]) -> None:
    unknown = [name for name in protocols if name not in _VERSIONS]
    if unknown or not protocols:
        raise SettingsError(
            f"ssl.enabled.protocols: {','.join(protocols)!r} is not served, only "
            f"{' and '.join(_VERSIONS)}"
        )
    versions = [_VERSIONS[name] for name in protocols]
    context.minimum_version, context.maximum_version = min(versions), max(versions)


def _load_keys(context: ssl.SSLContext, store: Store) -> None:
    name, password = "ssl.keystore.location", store.key_password
    if store.key is not None or store.certificates is not None:
        name = "ssl.keystore.key"
        pem = f"{store.key or ''}\n{store.certificates or ''}".encode()
    elif store.location is None:
        raise SettingsError("a TLS listener needs ssl.keystore.location or ssl.keystore.key")
    else:
        name = f"{name}: {store.location}"
        pem = _pem_of(store, name)
        if store.kind.upper() != _PEM:
            password = None  # the child has taken it away
    if b"PRIVATE KEY-----" not in pem:
        raise SettingsError(f"{name}: there is no private key in it")
    try:
        with _in_memory(pem) as path:
            context.load_cert_chain(path, password=lambda: password or "")
    except (ssl.SSLError, ValueError) as error:
        raise SettingsError(f"{name}: {_reason(error, password)}") from error


def _load_trust(context: ssl.SSLContext, store: Store) -> None:
    if store.certificates is not None:
        name, pem = "ssl.truststore.certificates", store.certificates.encode()
    elif store.location is None:
        context.set_default_verify_paths()
        return
    else:
        name = f"ssl.truststore.location: {store.location}"
        pem = _pem_of(store, name)
    try:
        context.load_verify_locations(cadata=pem.decode("ascii", "replace"))
    except ssl.SSLError as error:
        raise SettingsError(f"{name}: there is no certificate in it that can be read") from error


def _reason(error: Exception, password: str | None) -> str:
    reason = getattr(error, "reason", None) or ""
    if reason == "KEY_VALUES_MISMATCH":
        return "the private key and the certificate do not match"
    if reason in {"BAD_DECRYPT", "CIPHERFINAL_ERROR", "BAD_PASSWORD_READ"} or (
        not reason or "PASSWORD" in reason
    ):
        what = "is wrong" if password else "is missing, or the key cannot be read"
        return f"ssl.key.password {what}"
    return "the key or its certificate cannot be read"


def _pem_of(store: Store, name: str) -> bytes:
    assert store.location is not None
    try:
        data = Path(store.location).read_bytes()
    except OSError as error:
        raise SettingsError(f"{name}: cannot be read: {error.strerror}") from error
    kind = store.kind.upper()
    if kind == _PEM:
        return data
    if kind not in _PKCS12_TYPES:
        raise SettingsError(f"{name}: stores of the type {store.kind} are not served")
    if data.startswith(_JKS_MAGIC):
        raise SettingsError(
            f"{name}: the old format JKS is not served; convert it by keytool -importkeystore "
            "-deststoretype PKCS12"
        )
    return _read_pkcs12(name, data, store.password)


def _read_pkcs12(name: str, data: bytes, password: str | None) -> bytes:
    """Let a child read a store; its password goes over the pipe, too.

    Raises:
        SettingsError: the child cannot read it.
    """
    secret = (password or "").encode()
    head = len(secret).to_bytes(4, "big") + secret
    try:
        done = subprocess.run(  # noqa: S603 - this Python
            [sys.executable, "-m", _CHILD],
            input=head + data,
            capture_output=True,
            timeout=_CHILD_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SettingsError(f"{name}: it takes too long to read") from error
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise SettingsError(f"{name}: {reason}")
    return done.stdout


@contextmanager
def _in_memory(data: bytes) -> Iterator[str]:
    """Give a path to bytes that are in memory only."""
    with os.fdopen(os.memfd_create("keys"), "wb") as file:
        file.write(data)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"
