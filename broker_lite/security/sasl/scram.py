"""The mechanisms SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677), without channel binding.

The server never sees a password. It keeps two keys that are made of it, and computes only HMACs.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from broker_lite.security.sasl.mechanism import (
    DIFFERENT_NAME,
    SASLNAME,
    InvalidCredentials,
    Refused,
    Step,
    Unanswered,
)
from broker_lite.security.sasl.scram_mechanisms import HASHES, ITERATIONS_MIN, SCRAM_MECHANISMS

_VALUE: Final = r"[\x01-\x2b\x2d-\x7f]+"
_NONCE: Final = r"[\x21-\x2b\x2d-\x7e]+"
_BASE64: Final = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_EXTENSIONS: Final = f"(?:,[A-Za-z]+={_VALUE})*"
_FIRST: Final = re.compile(
    f"n,(?:a=(?P<wanted>{SASLNAME}))?,(?:m={_VALUE},)?"
    f"(?P<bare>n=(?P<name>{SASLNAME}),r=(?P<nonce>{_NONCE})(?P<extensions>{_EXTENSIONS}))"
)
_FINAL: Final = re.compile(
    f"(?P<proven>c={_BASE64},r=(?P<nonce>{_NONCE})){_EXTENSIONS},p=(?P<proof>{_BASE64})"
)


class Credential(Protocol):
    """The stored keys of a user's password for one mechanism."""

    @property
    def salt(self) -> bytes:
        """Random bytes, told to every client."""

    @property
    def stored_key(self) -> bytes:
        """What verifies the client's proof."""

    @property
    def server_key(self) -> bytes:
        """What proves to the client that the server knows its password."""

    @property
    def iterations(self) -> int:
        """How often the password was hashed."""


FindCredential = Callable[[str], Credential | None]
"""Finds the credential of a user by name; None for an unknown user."""


class TokenCredential(NamedTuple):
    """The stored keys of a delegation token's password.

    Attributes:
        credential: the keys.
        owner: the name of whom the token speaks for.
        expires_ms: when it ends, in milliseconds since the epoch.
    """

    credential: Credential
    owner: str
    expires_ms: int


FindToken = Callable[[str], TokenCredential | None]
"""Finds the credential of a delegation token by its id; None if there is no such token."""


class _Begun(NamedTuple):
    """What the first message left behind."""

    name: str
    nonce: str
    messages: str
    credential: Credential
    expires_ms: int | None
    is_by_token: bool


class Scram:
    """One authentication by SCRAM."""

    def __init__(
        self,
        mechanism: str,
        find: FindCredential,
        make_nonce: Callable[[], str],
        find_token: FindToken = lambda _token_id: None,
    ) -> None:
        """Start without a message.

        Args:
            mechanism: one of SCRAM_MECHANISMS.
            find: asked once, so a credential that is changed later counts for the next client.
            make_nonce: returns printable ASCII without a comma, new each time.
            find_token: asked instead if the client's name is the id of a delegation token.

        See: X-24.
        """
        self._hash = HASHES[SCRAM_MECHANISMS[mechanism]]
        self._find = find
        self._make_nonce = make_nonce
        self._find_token = find_token
        self._begun: _Begun | None = None

    def take(self, message: bytes, now_ms: int) -> Step:
        """Take the client's first or final message.

        See: X-17 to X-23.
        """
        text = message.decode("utf-8", "replace")
        if self._begun is None:
            return self._first(text)
        return self._final(text, self._begun)

    def _first(self, text: str) -> Step:
        """Answer who is asked for with salt, iterations and a nonce.

        The name of a client with a delegation token is the id of the token.

        Rule: X-17, X-18, X-19, X-75 (ScramSaslServer, ScramMessages.ClientFirstMessage).
        """
        found = _FIRST.fullmatch(text)
        if found is None:
            raise InvalidCredentials("no first message of a client")
        name = owner = found["name"].replace("=2C", ",").replace("=3D", "=")
        extensions = dict(pair.split("=", 1) for pair in found["extensions"].split(",") if pair)
        is_by_token = extensions.get("tokenauth", "").lower() == "true"
        expires_ms = None
        if is_by_token:
            token = self._find_token(name)
            if token is None:
                raise InvalidCredentials("unknown delegation token")
            credential: Credential | None
            credential, owner, expires_ms = token
        else:
            credential = self._find(name)
        if credential is None:
            raise InvalidCredentials("unknown user")
        if found["wanted"] and found["wanted"] != name:
            raise Refused(DIFFERENT_NAME)
        if credential.iterations < ITERATIONS_MIN:
            raise InvalidCredentials("too few iterations")
        nonce = found["nonce"] + self._make_nonce()
        salt = base64.b64encode(credential.salt).decode()
        answer = f"r={nonce},s={salt},i={credential.iterations}"
        signed = f"{found['bare']},{answer}"
        self._begun = _Begun(owner, nonce, signed, credential, expires_ms, is_by_token)
        return Step(answer.encode())

    def _final(self, text: str, begun: _Begun) -> Step:
        """Check the proof, and answer with the server's own.

        Rule: X-20, X-21, X-22, X-23 (ScramSaslServer, ScramMessages.ClientFinalMessage).
        """
        found = _FINAL.fullmatch(text)
        if found is None or not found["nonce"].endswith(begun.nonce):
            raise InvalidCredentials("no final message of this exchange")
        signed = f"{begun.messages},{found['proven']}".encode()
        stored_key = begun.credential.stored_key
        signature = hmac.digest(stored_key, signed, self._hash)
        proof = base64.b64decode(found["proof"])
        if len(proof) != len(signature):
            raise Unanswered("a proof of another length")
        client_key = bytes(one ^ other for one, other in zip(proof, signature, strict=True))
        if not hmac.compare_digest(hashlib.new(self._hash, client_key).digest(), stored_key):
            raise InvalidCredentials("wrong password")
        verifier = hmac.digest(begun.credential.server_key, signed, self._hash)
        proof_of_server = b"v=" + base64.b64encode(verifier)
        return Step(proof_of_server, begun.name, begun.expires_ms, begun.is_by_token)
