"""SCRAM credentials of users, as the metadata log stores them: keys that verify a password.

Clients of SASL listeners authenticate with them, see security.sasl.scram.

Source: ScramControlManager, RFC 5802; compared with a Kafka 4.3.1.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from broker_lite.errors import (
    BrokerError,
    DuplicateResource,
    ResourceNotFound,
    UnacceptableCredential,
    UnknownServerError,
    UnsupportedSaslMechanism,
)
from broker_lite.security.sasl.scram_keys import keys_of
from broker_lite.security.sasl.scram_mechanisms import HASHES, ITERATIONS_MIN

ITERATIONS_MAX: Final = 16384


class ScramCredential(NamedTuple):
    """The stored keys of a user's password, for one mechanism."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class Upsertion(NamedTuple):
    """A new credential from a client."""

    name: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes


Key = tuple[str, int]
Credentials = Mapping[Key, ScramCredential]
"""Credentials by user and mechanism."""


class CredentialPlan:
    """Checked changes of credentials; each user's change is accepted or refused separately.

    Attributes:
        changes: the credentials to write, by user; None removes a credential.
        outcomes: the error of each user whose change is refused, None if it is accepted.
    """

    def __init__(self, current: Credentials) -> None:
        """Start without changes.

        Args:
            current: the existing credentials.
        """
        self.changes: dict[str, tuple[Key, ScramCredential | None]] = {}
        self.outcomes: dict[str, BrokerError | None] = {}
        self._current = current

    def add(self, asked: Key | Upsertion) -> None:
        """Check the deletion of a credential or a new one, and add it to the plan.

        Rule: P-164 (ScramControlManager.alterCredentials).
        """
        name = asked[0]
        if self.outcomes.get(name) is not None:
            return
        try:
            if self.changes.pop(name, None) is not None:
                raise DuplicateResource(
                    "A user credential cannot be altered twice in the same request"
                )
            self.changes[name] = _change(self._current, asked)
            self.outcomes[name] = None
        except BrokerError as error:
            # without its traceback, which would keep the frames in memory
            self.outcomes[name] = error.with_traceback(None)


def _change(current: Credentials, asked: Key | Upsertion) -> tuple[Key, ScramCredential | None]:
    name, mechanism = asked[:2]
    if not name:
        raise UnacceptableCredential("Username must not be empty")
    if mechanism not in HASHES:
        raise UnsupportedSaslMechanism("Unknown SCRAM mechanism")
    if isinstance(asked, Upsertion):
        return (name, mechanism), _credential(asked)
    if (name, mechanism) not in current:
        raise ResourceNotFound("Attempt to delete a user credential that does not exist")
    return (name, mechanism), None


def _credential(asked: Upsertion) -> ScramCredential:
    """Derive the keys that are kept from the salted password that the client sends.

    See: X-16.
    """
    if asked.iterations < ITERATIONS_MIN:
        raise UnacceptableCredential("Too few iterations")
    if asked.iterations > ITERATIONS_MAX:
        raise UnacceptableCredential("Too many iterations")
    if not asked.salted_password:
        raise UnknownServerError  # Kafka fails on an empty key, too
    keys = keys_of(asked.salted_password, HASHES[asked.mechanism])
    return ScramCredential(
        salt=asked.salt,
        stored_key=keys.stored_key,
        server_key=keys.server_key,
        iterations=asked.iterations,
    )
