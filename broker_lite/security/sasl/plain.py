"""The mechanism PLAIN (RFC 4616): user and password as they are, in one message."""

import hmac
from collections.abc import Mapping

from broker_lite.security.sasl.mechanism import DIFFERENT_NAME, Refused, Step

_TOKENS = 3


class Plain:
    """One authentication by PLAIN."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        """Start without a message.

        Args:
            passwords: of all users, by name.
        """
        self._passwords = passwords

    def take(self, message: bytes, now_ms: int) -> Step:
        """Take the client's only message.

        Rule: X-13, X-14, X-15 (PlainSaslServer).
        """
        tokens = message.decode("utf-8", "replace").split("\0", _TOKENS)
        if len(tokens) != _TOKENS:
            raise Refused(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(tokens)}")
        wanted, name, password = tokens
        if not name:
            raise Refused("Authentication failed: username not specified")
        if not password:
            raise Refused("Authentication failed: password not specified")
        expected = self._passwords.get(name)
        # compared for unknown users, too, so that both refusals take the same time
        is_right = hmac.compare_digest(password.encode(), (expected or "").encode())
        if expected is None or not is_right:
            raise Refused("Authentication failed: Invalid username or password")
        if wanted and wanted != name:
            raise Refused(DIFFERENT_NAME)
        return Step(b"", name)
