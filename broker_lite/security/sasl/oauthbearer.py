"""The mechanism OAUTHBEARER (RFC 7628), and unsecured tokens: JSON that nobody has signed.

Unsecured tokens are for tests: a client writes into them whatever name it likes. Kafka accepts them
unless it is given another validator, such as that of security.sasl.signed_tokens.
"""

import base64
import json
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from broker_lite.security.sasl.mechanism import (
    DIFFERENT_ID,
    SASLNAME,
    InvalidCredentials,
    Refused,
    Step,
    Unanswered,
)

_PAIR: Final = r"[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01"
_INITIAL: Final = re.compile(f"n,(?:a=(?P<wanted>{SASLNAME}))?,\x01(?P<pairs>(?:{_PAIR})*)\x01")
_BEARER: Final = re.compile(r"(?P<scheme>\w+) +(?P<token>[-_~+/.a-zA-Z0-9]+=*)", re.ASCII)
_BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]*={0,2}", re.ASCII)
_END_OF_ERROR: Final = b"\x01"
# Seconds past which a time is no time; it keeps sums of times far from infinity.
_SECONDS_MAX: Final = 1 << 53


class TokenRules(NamedTuple):
    """What an unsecured token must have.

    Attributes:
        name_claim: the claim that has the user's name.
        scope_claim: the claim that has the scope.
        required_scope: what must be in the scope.
        skew_ms: by how much clocks may differ.
    """

    name_claim: str = "sub"
    scope_claim: str = "scope"
    required_scope: tuple[str, ...] = ()
    skew_ms: int = 0


class BadToken(Exception):
    """The token is not accepted; the text is the status for the client."""

    def __init__(self, status: str = "invalid_token", scope: str | None = None) -> None:
        super().__init__(status)
        self.scope = scope


CheckToken = Callable[[str, int], tuple[str, int]]
"""Returns the name of the user and when the token expires, for a token and the time in milliseconds
since the epoch; raises BadToken or Unanswered."""


class OAuthBearer:
    """One authentication by OAUTHBEARER."""

    def __init__(self, check: CheckToken) -> None:
        """Start without a message.

        Args:
            check: of tokens.
        """
        self._check = check
        self._error: str | None = None

    def take(self, message: bytes, now_ms: int) -> Step:
        """Take a token, or the client's confirmation that it has read why it is refused.

        Rule: X-25, X-26, X-27 (OAuthBearerSaslServer, OAuthBearerClientInitialResponse).
        """
        if self._error is not None and message == _END_OF_ERROR:
            raise Refused(self._error)
        self._error = None
        token, wanted = _token_of(message)
        try:
            name, expires_ms = self._check(token, now_ms)
        except BadToken as bad:
            scope = "" if bad.scope is None else f', "scope":"{bad.scope}"'
            self._error = f'{{"status":"{bad}"{scope}}}'
            return Step(self._error.encode())
        if wanted and wanted != name:
            raise Refused(
                f"{DIFFERENT_ID} ({wanted}) that is different from the token's principal name "
                f"({name})"
            )
        return Step(b"", name, expires_ms)


def _token_of(message: bytes) -> tuple[str, str]:
    """Return the token and the name that the client wants to have."""
    found = _INITIAL.fullmatch(message.decode("utf-8", "replace"))
    if found is None:
        raise InvalidCredentials("no message of a client")
    pairs = dict(pair.split("=", 1) for pair in found["pairs"].split("\x01") if pair)
    bearer = _BEARER.fullmatch(pairs.get("auth", ""))
    if bearer is None:
        raise InvalidCredentials("no token")
    if bearer["scheme"].lower() != "bearer":
        raise Unanswered("the scheme of the token is not Bearer")
    return bearer["token"], found["wanted"] or ""


def check_unsecured(rules: TokenRules, token: str, now_ms: int) -> tuple[str, int]:
    """Return the user's name and when an unsecured token expires.

    Raises:
        BadToken: it is not accepted.

    Rule: X-28 (OAuthBearerUnsecuredValidatorCallbackHandler, OAuthBearerUnsecuredJws).
    """
    parts = token.split(".")
    if len(parts) != 3 or parts[2]:
        raise BadToken
    header, claims = _json(parts[0]), _json(parts[1])
    name = claims.get(rules.name_claim)
    if header.get("alg") != "none" or not isinstance(name, str) or not name.strip():
        raise BadToken
    expires_ms = _time_ms(claims.get("exp"))
    if expires_ms is None or now_ms - rules.skew_ms >= expires_ms:
        raise BadToken
    if "iat" in claims:
        issued_ms = _time_ms(claims["iat"])
        if issued_ms is None or not issued_ms <= now_ms + rules.skew_ms or issued_ms >= expires_ms:
            raise BadToken
    scope = claims.get(rules.scope_claim)
    has = scope.split() if isinstance(scope, str) else scope
    if not set(rules.required_scope) <= set(_texts(has)):
        raise BadToken("insufficient_scope", f"[{', '.join(rules.required_scope)}]")
    return name, expires_ms


def _texts(values: object) -> list[str]:
    return [one for one in values if isinstance(one, str)] if isinstance(values, list) else []


def _time_ms(seconds: object) -> int | None:
    """Return a claim's time in milliseconds; None if it is no number."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        return None
    return round(seconds * 1000) if abs(seconds) < _SECONDS_MAX else None


def _json(part: str) -> dict[str, Any]:
    if not _BASE64URL.fullmatch(part):
        raise BadToken
    try:
        decoded = base64.urlsafe_b64decode(part.rstrip("=") + "=" * (-len(part.rstrip("=")) % 4))
        value = json.loads(decoded)
    except (ValueError, RecursionError):
        raise BadToken from None
    if not isinstance(value, dict):
        raise BadToken
    return value
