"""Signed tokens of OAUTHBEARER: JSON with a signature by a key of the issuer (RFC 7515, 7519).

Source: OAuthBearerValidatorCallbackHandler, BrokerJwtValidator, and the defaults of jose4j, by
which a token with an audience is refused where none is expected.
"""

import base64
import json
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from broker_lite.security.sasl.mechanism import Unanswered
from broker_lite.security.sasl.oauthbearer import BadToken

if TYPE_CHECKING:
    from broker_lite.security.sasl.jwks import KeySet

_BASE64URL: Final = re.compile(r"[A-Za-z0-9_\-+/~]*=*", re.ASCII)
_INT64_MAX: Final = (1 << 63) - 1
_PARTS: Final = 3


class SignedTokenRules(NamedTuple):
    """What a signed token must have.

    Attributes:
        issuer: what the claim iss has to be; None if it may be anything.
        audiences: of which the claim aud has to have one; without any, a token must not have it.
        skew_ms: by how much clocks may differ.
        scope_claim: the claim that has the scope.
        name_claim: the claim that has the user's name.
    """

    issuer: str | None = None
    audiences: tuple[str, ...] = ()
    skew_ms: int = 30_000
    scope_claim: str = "scope"
    name_claim: str = "sub"


class SignedTokens:
    """Checks the signed tokens of a listener."""

    def __init__(
        self,
        rules: SignedTokenRules,
        get_keys: "Callable[[], KeySet | None]",
        miss: Callable[[str], object],
    ) -> None:
        """Take the rules of a listener.

        Args:
            rules: what tokens must have.
            get_keys: returns the keys of the issuer as they are known; None if they are not yet.
            miss: told the id of a key that the set does not have.
        """
        self._rules = rules
        self._get_keys = get_keys
        self._miss = miss

    def check(self, token: str, now_ms: int) -> tuple[str, int]:
        """Return the user's name and when the token expires.

        Raises:
            BadToken: it is not accepted.
            Unanswered: Kafka fails at it, so the connection closes.

        Rule: X-29.
        """
        parts = token.split(".")
        if len(parts) != _PARTS or not all(parts):
            raise BadToken
        header, claims = _json(parts[0]), _json(parts[1])
        _check_header(header)
        self._check_signature(header, f"{parts[0]}.{parts[1]}".encode(), _bytes(parts[2]))
        self._check_parties(claims)
        expires_ms = _check_times(claims, now_ms, self._rules.skew_ms)
        _check_scopes(claims.get(self._rules.scope_claim))
        return self._name(claims), expires_ms

    def _check_signature(self, header: dict[str, Any], data: bytes, signature: bytes) -> None:
        keys = self._get_keys()
        is_signed = None if keys is None else keys.is_signed(header, data, signature)
        if is_signed is None:
            self._miss(str(header.get("kid") or ""))
        if not is_signed:
            raise BadToken

    def _check_parties(self, claims: dict[str, Any]) -> None:
        """Check who made the token, and for whom."""
        rules, issuer, audience = self._rules, claims.get("iss"), claims.get("aud")
        audiences = [audience] if isinstance(audience, str) else audience
        if not (issuer is None or isinstance(issuer, str)) or (
            rules.issuer is not None and issuer != rules.issuer
        ):
            raise BadToken
        for name in ("sub", "jti"):
            if not (claims.get(name) is None or isinstance(claims[name], str)):
                raise BadToken
        if audiences is None and not rules.audiences:
            return
        if not isinstance(audiences, list) or not all(isinstance(one, str) for one in audiences):
            raise BadToken
        if not set(audiences) & set(rules.audiences):
            raise BadToken

    def _name(self, claims: dict[str, Any]) -> str:
        name = claims.get(self._rules.name_claim)
        if not isinstance(name, str) or not name.strip():
            raise BadToken
        return name.strip()


def _check_header(header: dict[str, Any]) -> None:
    """Refuse what would change the meaning of a token."""
    kind = header.get("cty")
    if isinstance(kind, str) and kind.lower() in ("jwt", "application/jwt"):
        raise BadToken  # a token in a token
    critical = header.get("crit")
    if critical is not None and (
        not isinstance(critical, list) or any(name != "b64" for name in critical)
    ):
        raise BadToken
    if header.get("b64") not in (None, True):
        raise BadToken


def _check_times(claims: dict[str, Any], now_ms: int, skew_ms: int) -> int:
    """Return when a token expires; check that it is valid now.

    Source: NumericDateValidator of jose4j.
    """
    expires, issued, begins = (_seconds(claims.get(name)) for name in ("exp", "iat", "nbf"))
    if expires is None or issued is None:
        raise BadToken
    if now_ms - skew_ms >= expires * 1000 or expires < issued:
        raise BadToken
    if begins is not None and (now_ms + skew_ms < begins * 1000 or expires < begins):
        raise BadToken
    if expires * 1000 > _INT64_MAX:
        raise Unanswered("the end of the token is too far away")
    if expires < 0 or issued < 0:
        raise BadToken
    return expires * 1000


def _seconds(value: object) -> int | None:
    """Return a time in whole seconds, as Java makes them of a number."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadToken
    if isinstance(value, float):
        return int(max(-_INT64_MAX - 1, min(value, _INT64_MAX)))
    if not -_INT64_MAX - 1 <= value <= _INT64_MAX:
        raise BadToken
    return value


def _check_scopes(scope: object) -> None:
    """Check the form of a scope; which one it is does not count.

    Source: ClaimValidationUtils.validateScopes.
    """
    scopes: Iterable[object] = [scope] if isinstance(scope, str) else ()
    if isinstance(scope, list):
        scopes = scope
    seen = set()
    for one in scopes:
        if one is not None and not isinstance(one, str):
            raise Unanswered("a scope of the token is no text")
        name = (one or "").strip()
        if not name or name in seen:
            raise BadToken
        seen.add(name)


def _json(part: str) -> dict[str, Any]:
    try:
        value = json.loads(_bytes(part), object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise BadToken from None
    if not isinstance(value, dict):
        raise BadToken
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of JSON, whose names must differ."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a name occurs twice")
    return value


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


def _bytes(part: str) -> bytes:
    """Decode base64url; characters of base64 are taken, too, and others left out, as by Java."""
    if not _BASE64URL.fullmatch(part):
        raise BadToken
    kept = re.sub(r"[^A-Za-z0-9_\-]", "", part.replace("+", "-").replace("/", "_"))
    kept = kept[: len(kept) - (len(kept) % 4 == 1)]
    return base64.urlsafe_b64decode(kept + "=" * (-len(kept) % 4))
