"""The client's side of SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802), without channel binding.

The client checks the broker, too: one that does not know the password's keys is refused.
"""

import base64
import hmac
import re
from collections.abc import Mapping
from typing import Final

from broker_lite.security.login.mechanism import BrokerRefused
from broker_lite.security.sasl.scram_keys import ScramKeys, keys_of, salted
from broker_lite.security.sasl.scram_mechanisms import HASHES, ITERATIONS_MIN, SCRAM_MECHANISMS

ITERATIONS_MAX: Final = 1_000_000
"""What a broker may ask for: more would take a second and longer. Kafka makes 16,384 at most."""
_HEADER: Final = "n,,"
_BASE64: Final = r"[a-zA-Z0-9/+]+={0,2}"
_SERVER_FIRST: Final = re.compile(
    rf"r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+),s=(?P<salt>{_BASE64}),i=(?P<iterations>\d{{1,9}})(?:,.*)?"
)
_SERVER_FINAL: Final = re.compile(rf"v=(?P<signature>{_BASE64})(?:,.*)?")


class ScramLogin:
    """One authentication by SCRAM."""

    def __init__(
        self,
        mechanism: str,
        name: str,
        password: str,
        nonce: str,
        extensions: Mapping[str, str] | None = None,
    ) -> None:
        """Keep who the client is.

        Args:
            mechanism: one of SCRAM_MECHANISMS.
            name: of the user.
            password: of the user.
            nonce: printable ASCII without a comma, new for each authentication.
            extensions: such as tokenauth=true, which says that name and password are those of a
                delegation token.
        """
        self._hash = HASHES[SCRAM_MECHANISMS[mechanism]]
        self._password = password
        self._nonce = nonce
        saslname = name.replace("=", "=3D").replace(",", "=2C")
        more = "".join(f",{key}={value}" for key, value in (extensions or {}).items())
        self._bare = f"n={saslname},r={nonce}{more}"
        self._signed = b""
        self._keys: ScramKeys | None = None

    def first(self) -> bytes:
        """Return the first message.

        See: X-17.
        """
        return f"{_HEADER}{self._bare}".encode()

    def take(self, answer: bytes) -> bytes | None:
        """Take salt and iterations, or at the end the broker's own proof.

        See: X-16, X-19, X-20, X-21, X-22.
        """
        text = answer.decode("utf-8", "replace")
        if self._keys is None:
            return self._final(text)
        self._check_proof(text, self._keys)
        return None

    def _final(self, text: str) -> bytes:
        found = _SERVER_FIRST.fullmatch(text)
        if found is None:
            raise BrokerRefused("the broker's first message of SCRAM cannot be read")
        nonce = found["nonce"]
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise BrokerRefused("the broker's nonce does not begin with the client's")
        iterations = int(found["iterations"])
        if not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
            raise BrokerRefused(f"the broker asks for {iterations} iterations")
        salt = _decoded(found["salt"])
        self._keys = keys = keys_of(
            salted(self._password, salt, iterations, self._hash), self._hash
        )
        without_proof = f"c={base64.b64encode(_HEADER.encode()).decode()},r={nonce}"
        self._signed = f"{self._bare},{text},{without_proof}".encode()
        signature = hmac.digest(keys.stored_key, self._signed, self._hash)
        proof = bytes(a ^ b for a, b in zip(keys.client_key, signature, strict=True))
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def _check_proof(self, text: str, keys: ScramKeys) -> None:
        found = _SERVER_FINAL.fullmatch(text)
        expected = hmac.digest(keys.server_key, self._signed, self._hash)
        if found is None or not hmac.compare_digest(_decoded(found["signature"]), expected):
            raise BrokerRefused("the broker does not prove that it knows the user's password")


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise BrokerRefused("a message of the broker is not base64") from None
