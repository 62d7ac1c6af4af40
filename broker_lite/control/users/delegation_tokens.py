"""Delegation tokens (KIP-48): who a token speaks for, until when, and what verifies it.

The password of a token is an HMAC of its id by the secret of the cluster. Whoever knows it logs in
by SCRAM as the owner. The metadata log has the tokens, but neither secret nor passwords.

Source: DelegationTokenControlManager, DelegationTokenCache; compared with a Kafka 4.3.1.
"""

import base64
import hashlib
import hmac
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from broker_lite.control.users.credential_rules import ScramCredential
from broker_lite.errors import (
    DelegationTokenExpired,
    DelegationTokenNotFound,
    DelegationTokenOwnerMismatch,
)
from broker_lite.security.principal import Principal
from broker_lite.security.sasl.scram_mechanisms import HASHES, ITERATIONS_MIN, SCRAM_MECHANISMS
from broker_lite.wire import messages

_HMAC_HASH: Final = "sha512"
_SALT_BYTES: Final = 16
_CREDENTIALS_MAX: Final = 10_000


class DelegationToken(NamedTuple):
    """A token; times are milliseconds since the epoch.

    Attributes:
        owner: who a client is that logs in with it.
        requester: who asked for it.
        renewers: who may renew it as well.
        max_ms: until when it may be renewed.
        expiry_ms: until when it is valid.
    """

    token_id: str
    owner: Principal
    requester: Principal
    renewers: tuple[Principal, ...]
    issue_ms: int
    max_ms: int
    expiry_ms: int

    def is_of(self, principal: Principal) -> bool:
        """True if somebody owns it, asked for it, or may renew it."""
        return principal in (self.owner, self.requester, *self.renewers)

    def has_expired(self, now_ms: int) -> bool:
        """True if it is not valid any more."""
        return self.max_ms < now_ms or self.expiry_ms < now_ms


class Lifetimes(NamedTuple):
    """How long tokens are valid, in milliseconds.

    Attributes:
        max_ms: at most, from the issue on.
        expiry_ms: from the issue, or from a renewal on.
        check_ms: how often expired tokens are removed.
    """

    max_ms: int
    expiry_ms: int
    check_ms: int


class DelegationTokens:
    """The tokens of a cluster, as the metadata log has them."""

    def __init__(self) -> None:
        """Start without any."""
        self._by_id: dict[str, DelegationToken] = {}
        self._by_password: dict[bytes, str] = {}
        self._not_hashed: list[str] = []
        self._credentials: dict[tuple[str, str], ScramCredential] = {}

    @property
    def by_id(self) -> Mapping[str, DelegationToken]:
        """All tokens by id; a live view."""
        return self._by_id

    def apply(self, record: messages.DelegationTokenRecord) -> None:
        """Apply the record of a new or changed token."""
        token = DelegationToken(
            record.token_id,
            _principal(record.owner),
            _principal(record.requester),
            tuple(map(_principal, record.renewers)),
            record.issue_timestamp,
            record.max_timestamp,
            record.expiration_timestamp,
        )
        if token.token_id not in self._by_id:
            self._not_hashed.append(token.token_id)
        self._by_id[token.token_id] = token

    def apply_removal(self, record: messages.RemoveDelegationTokenRecord) -> None:
        """Apply the record that removes a token."""
        self._by_id.pop(record.token_id, None)
        for mechanism in SCRAM_MECHANISMS:
            self._credentials.pop((record.token_id, mechanism), None)

    def find(self, secret: str, password: bytes) -> DelegationToken | None:
        """Return the token with a password; None if there is none."""
        for token_id in self._not_hashed:
            self._by_password[password_of(secret, token_id)] = token_id
        self._not_hashed.clear()
        token_id = self._by_password.get(password, "")
        token = self._by_id.get(token_id)
        if token is None:
            self._by_password.pop(password, None)
        return token

    def credential(
        self, secret: str, token_id: str, mechanism: str, random_bytes: Callable[[int], bytes]
    ) -> ScramCredential | None:
        """Return the keys by which a client proves that it knows the password of a token.

        The first call for a token takes some milliseconds.
        """
        if token_id not in self._by_id:
            return None
        credential = self._credentials.get((token_id, mechanism))
        if credential is None:
            password = base64.b64encode(password_of(secret, token_id))
            credential = _derived(password, mechanism, random_bytes(_SALT_BYTES))
            if len(self._credentials) >= _CREDENTIALS_MAX:
                self._credentials.clear()
            self._credentials[token_id, mechanism] = credential
        return credential

    def expired(self, now_ms: int) -> list[DelegationToken]:
        """Return the tokens that are not valid any more."""
        return [token for token in self._by_id.values() if token.has_expired(now_ms)]


def _principal(text: str) -> Principal:
    """Return the principal of a text in a record, which may have an empty kind or name."""
    kind, _, name = text.partition(":")
    return Principal(kind, name)


def password_of(secret: str, token_id: str) -> bytes:
    """Return the password of a token, which clients use in base64."""
    return hmac.digest(secret.encode(), token_id.encode(), _HMAC_HASH)


def _derived(password: bytes, mechanism: str, salt: bytes) -> ScramCredential:
    name = HASHES[SCRAM_MECHANISMS[mechanism]]
    salted = hashlib.pbkdf2_hmac(name, password, salt, ITERATIONS_MIN)
    client_key = hmac.digest(salted, b"Client Key", name)
    return ScramCredential(
        salt=salt,
        stored_key=hashlib.new(name, client_key).digest(),
        server_key=hmac.digest(salted, b"Server Key", name),
        iterations=ITERATIONS_MIN,
    )


def new_token(
    owner: Principal,
    requester: Principal,
    renewers: Sequence[Principal],
    asked_ms: int,
    lifetimes: Lifetimes,
    now_ms: int,
    id_bytes: bytes,
) -> DelegationToken:
    """Return a new token.

    Args:
        owner: who it speaks for.
        requester: who asks for it.
        renewers: who may renew it, too.
        asked_ms: how long it is to be valid at most; not above 0 for as long as may be.
        lifetimes: what the broker allows.
        now_ms: the time.
        id_bytes: 16 random bytes.

    Rule: X-71 (DelegationTokenControlManager.createDelegationToken).
    """
    life_ms = min(lifetimes.max_ms, asked_ms) if asked_ms > 0 else lifetimes.max_ms
    max_ms = now_ms + life_ms
    token_id = base64.urlsafe_b64encode(uuid.UUID(bytes=id_bytes, version=4).bytes)
    return DelegationToken(
        token_id.decode().rstrip("="),
        owner,
        requester,
        tuple(renewers),
        now_ms,
        max_ms,
        min(max_ms, now_ms + lifetimes.expiry_ms),
    )


def renewed(
    token: DelegationToken | None,
    principal: Principal,
    asked_ms: int,
    lifetimes: Lifetimes,
    now_ms: int,
) -> DelegationToken:
    """Return a token that is valid for longer.

    Raises:
        BrokerError: it may not be renewed.

    Rule: X-72 (DelegationTokenControlManager.renewDelegationToken).
    """
    if token is None:
        raise DelegationTokenNotFound
    if token.has_expired(now_ms):
        raise DelegationTokenExpired
    _check_owner(token, principal)
    life_ms = min(lifetimes.expiry_ms, asked_ms) if asked_ms > 0 else lifetimes.expiry_ms
    return token._replace(expiry_ms=min(token.max_ms, now_ms + life_ms))


def expired_earlier(
    token: DelegationToken | None, principal: Principal, asked_ms: int, now_ms: int
) -> DelegationToken | None:
    """Return a token that expires at another time; None if it is to be removed at once.

    Raises:
        BrokerError: that may not be changed.

    Rule: X-73 (DelegationTokenControlManager.expireDelegationToken).
    """
    if token is None:
        raise DelegationTokenNotFound
    _check_owner(token, principal)
    if asked_ms < 0:
        return None
    if token.has_expired(now_ms):
        raise DelegationTokenExpired
    return token._replace(expiry_ms=min(token.max_ms, now_ms + asked_ms))


def _check_owner(token: DelegationToken, principal: Principal) -> None:
    if principal not in (token.owner, *token.renewers):
        raise DelegationTokenOwnerMismatch
