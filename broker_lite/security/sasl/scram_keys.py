"""The keys that SCRAM derives from a password: a client proves one, a server keeps the others."""

import hashlib
import hmac
from typing import NamedTuple


class ScramKeys(NamedTuple):
    """The keys of a password, a salt and a number of iterations.

    `repr` leaves them out, because they are secrets.
    """

    client_key: bytes
    stored_key: bytes
    server_key: bytes

    def __repr__(self) -> str:  # type: ignore[explicit-override]
        return "ScramKeys()"


def salted(password: str, salt: bytes, iterations: int, hash_name: str) -> bytes:
    """Return the salted password; this takes a millisecond for every 4096 iterations or so."""
    return hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)


def keys_of(salted_password: bytes, hash_name: str) -> ScramKeys:
    """Derive the keys from a salted password, which is not empty.

    Rule: X-16.
    """
    client_key = hmac.digest(salted_password, b"Client Key", hash_name)
    return ScramKeys(
        client_key=client_key,
        stored_key=hashlib.new(hash_name, client_key).digest(),
        server_key=hmac.digest(salted_password, b"Server Key", hash_name),
    )
