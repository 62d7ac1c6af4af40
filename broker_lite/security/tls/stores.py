"""Contexts of TLS from key stores and trust stores.

No key lies on a disk on its way from a store: Python's ssl module reads it from memory that has a
descriptor.
"""

import os
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias

from broker_lite.errors import SettingsError
from broker_lite.security.tls.cipher_suites import limit_suites
from broker_lite.security.tls.opened import Entry, Opened, first_entry
from broker_lite.security.tls.store_files import PEM_ALIAS, Store, UnreadableFile, open_file
from broker_lite.security.tls.store_rules import Mismatched, check_keys, check_trust

__all__ = ["ServerContext", "Store", "client_context", "server_context", "stamps_of"]

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


Stamp: TypeAlias = tuple[int, int, int] | None
"""What changes with a file: its inode, its size and the time of its change; None without a file."""


class ServerContext(ssl.SSLContext):
    """The context of a listener, and what it was made of.

    Attributes:
        entries: of the key store.
        has_trust: whether a trust store is configured.
        suites: of TLS 1.3 to which clients are limited; empty for all.
        stamps: of the files, from before they were read.
    """

    entries: tuple[Entry, ...] = ()
    has_trust: bool = False
    suites: frozenset[str] = frozenset()
    stamps: tuple[Stamp, ...] = ()


def server_context(
    keys: Store,
    trust: Store,
    *,
    client_auth: str,
    protocols: Sequence[str],
    suites: Sequence[str] = (),
) -> ServerContext:
    """Make the context of a listener.

    Args:
        keys: the server's key and certificate.
        trust: the CAs of clients' certificates; the system's if it is empty.
        client_auth: none, requested or required.
        protocols: TLSv1.2, TLSv1.3 or both.
        suites: names of cipher suites; none for all that are safe.

    Raises:
        SettingsError: a store cannot be used; one line without a secret.
        Mismatched: settings of a store do not go together.

    Rule: X-37.
    """
    check_keys(keys)
    check_trust(trust)
    context = ServerContext(ssl.PROTOCOL_TLS_SERVER)
    context.stamps = stamps_of(keys, trust)
    _limit_versions(context, protocols)
    context.suites = limit_suites(context, suites)
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.entries = _load_keys(context, keys)
    context.has_trust = trust.certificates is not None or trust.location is not None
    context.verify_mode = _CLIENT_AUTH[client_auth]
    if context.has_trust or context.verify_mode is not ssl.CERT_NONE:
        _load_trust(context, trust)
    return context


def client_context(
    keys: Store | None, trust: Store, *, checks_host: bool, protocols: Sequence[str]
) -> ssl.SSLContext:
    """Make the context of a client.

    Args:
        keys: the client's key and certificate, for brokers that ask for them; None for none.
        trust: the CAs of brokers' certificates; the system's if it is empty.
        checks_host: whether the broker's certificate has to be for the host that is connected to.
        protocols: TLSv1.2, TLSv1.3 or both.

    Raises:
        SettingsError: a store cannot be used; one line without a secret.
    """
    try:
        check_trust(trust)
        if keys is not None:
            check_keys(keys)
    except Mismatched as error:
        raise SettingsError(f"ssl.keystore.*, ssl.truststore.*: {error}") from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = checks_host
    _limit_versions(context, protocols)
    _load_trust(context, trust)
    if keys is not None:
        _load_keys(context, keys)
    return context


def stamps_of(keys: Store, trust: Store) -> tuple[Stamp, ...]:
    """Return the stamps of the files of stores."""
    return tuple(map(_stamp, (keys.location, trust.location)))


def _stamp(location: str | None) -> Stamp:
    if location is None:
        return None
    try:
        status = os.stat(location)
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _limit_versions(context: ssl.SSLContext, protocols: Sequence[str]) -> None:
    unknown = [name for name in protocols if name not in _VERSIONS]
    if unknown or not protocols:
        raise SettingsError(
            f"ssl.enabled.protocols: {','.join(protocols)!r} is not served, only "
            f"{' and '.join(_VERSIONS)}"
        )
    versions = [_VERSIONS[name] for name in protocols]
    context.minimum_version, context.maximum_version = min(versions), max(versions)


def _load_keys(context: ssl.SSLContext, store: Store) -> tuple[Entry, ...]:
    password = store.key_password
    if store.key is not None:
        name = "ssl.keystore.key"
        pem = f"{store.key}\n{store.certificates}".encode("utf-8", "replace")
        opened = Opened(pem, first_entry(pem, PEM_ALIAS))
    elif store.location is None:
        raise SettingsError("a TLS listener needs ssl.keystore.location or ssl.keystore.key")
    else:
        name = f"ssl.keystore.location: {store.location}"
        opened = open_file(store, name)
        if not store.is_pem:
            password = None  # it is taken away
    if b"PRIVATE KEY-----" not in opened.pem:
        raise UnreadableFile(name, "there is no private key in it", store)
    try:
        with _in_memory(opened.pem) as path:
            context.load_cert_chain(path, password=lambda: password or "")
    except (ssl.SSLError, ValueError) as error:
        raise UnreadableFile(name, _reason(error, password), store) from None
    return opened.entries


def _load_trust(context: ssl.SSLContext, store: Store) -> None:
    if store.certificates is not None:
        name, pem = "ssl.truststore.certificates", store.certificates.encode("utf-8", "replace")
    elif store.location is None:
        context.set_default_verify_paths()
        return
    else:
        name = f"ssl.truststore.location: {store.location}"
        pem = open_file(store, name).pem
    # As in Java, any certificate of a trust store is trusted, not only that of a root CA.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cadata=pem.decode("ascii", "replace"))
    except ssl.SSLError as error:
        raise UnreadableFile(
            name, "there is no certificate in it that can be read", store
        ) from error


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


@contextmanager
def _in_memory(data: bytes) -> Iterator[str]:
    """Give a path to bytes that are in memory only."""
    with os.fdopen(os.memfd_create("keys"), "wb") as file:
        file.write(data)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"
