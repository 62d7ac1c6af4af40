"""Reads the files of key stores and trust stores: PEM, PKCS12, and Java's JKS.

PEM and JKS are read here. PKCS12 is read in a child process, because the library for it takes 40 ms
and 12 MB, and the broker needs it once. The child gives back PEM over a pipe. As in Java, a store
of the type JKS may be PKCS12, and the other way round: the first bytes tell.
"""

import json
import os
import stat
import subprocess
import sys
from typing import Final, NamedTuple

from broker_lite.errors import SettingsError
from broker_lite.security.tls.jks import MAGIC, UnreadableStore, read_jks
from broker_lite.security.tls.opened import Opened, first_entry

PEM: Final = "PEM"
PEM_ALIAS: Final = "kafka"
"""The name that Kafka gives to the only entry of a store in PEM."""

_CHILD: Final = "broker_lite.security.tls.pkcs12"
_CHILD_S: Final = 30
_TOLD_BY_CHILD: Final = 3
_JAVA_TYPES: Final = ("PKCS12", "JKS")
# A store with all CAs of a system has a quarter of a megabyte.
_FILE_BYTES_MAX: Final = 4 * 1024 * 1024
_DER_SEQUENCE: Final = b"\x30"
_OTHERS: Final = (
    (b"\xce\xce\xce\xce", "it is a store of the type JCEKS, which is not served"),
    (b"\0\0\0\1", "it is a store of the type BKS, which is not served"),
    (b"\0\0\0\2", "it is a store of the type BKS, which is not served"),
    (b"-----BEGIN ", "it is PEM, so its type has to be PEM"),
)


class UnreadableFile(SettingsError):
    """The file of a store cannot be read; one line without a secret."""

    def __init__(self, name: str, reason: str, store: "Store") -> None:
        """Say which file it is and why.

        Args:
            name: of the setting and the file.
            reason: for a person.
            store: whose file it is.
        """
        super().__init__(f"{name}: {reason}")
        self.store = store


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

    @property
    def is_pem(self) -> bool:
        """Whether its type is PEM."""
        return self.kind.upper() == PEM


def open_file(store: Store, name: str) -> Opened:
    """Open the store at a location.

    Args:
        store: has a location.
        name: of the setting and the file, for errors.

    Raises:
        UnreadableFile: it cannot be read; one line without a secret.
    """
    assert store.location is not None
    try:
        data = _read(store.location)
    except OSError as error:
        raise UnreadableFile(name, f"cannot be read: {error.strerror}", store) from error
    except ValueError as error:
        raise UnreadableFile(name, f"cannot be read: {error}", store) from error
    if store.is_pem:
        return Opened(data, first_entry(data, PEM_ALIAS))
    if store.kind.upper() not in _JAVA_TYPES:
        raise UnreadableFile(name, f"stores of the type {store.kind} are not served", store)
    try:
        if data.startswith(_DER_SEQUENCE):
            return _open_pkcs12(data, store.password)
        if data.startswith(MAGIC):
            return read_jks(data, store.password, store.key_password)
    except UnreadableStore as error:
        raise UnreadableFile(name, str(error), store) from None
    reason = next((text for start, text in _OTHERS if data.startswith(start)), "it is no key store")
    raise UnreadableFile(name, reason, store)


def _read(location: str) -> bytes:
    """Read a file that is no pipe or device: these might have no end, or nobody who writes."""
    descriptor = os.open(location, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is no file")
        data = file.read(_FILE_BYTES_MAX + 1)
    if len(data) > _FILE_BYTES_MAX:
        raise ValueError(f"it has more than {_FILE_BYTES_MAX} bytes")
    return data


def _open_pkcs12(data: bytes, password: str | None) -> Opened:
    """Let a child read a store; its password goes over the pipe, too.

    Raises:
        UnreadableStore: the child cannot read it.
    """
    secret = (password or "").encode("utf-8", "surrogateescape")
    head = len(secret).to_bytes(4, "big") + secret
    try:
        done = subprocess.run(  # noqa: S603 - this Python
            [sys.executable, "-P", "-m", _CHILD],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            input=head + data,
            capture_output=True,
            timeout=_CHILD_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UnreadableStore("it takes too long to read") from None
    if done.returncode:
        reason = "it cannot be read"
        if done.returncode == _TOLD_BY_CHILD:
            reason = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise UnreadableStore(reason)
    alias, _, pem = done.stdout.partition(b"\n")
    name_in_store = json.loads(alias)
    return Opened(pem, () if name_in_store is None else first_entry(pem, name_in_store))
