"""A small issuer of OAuth tokens for the users of a secured broker, in the place of a large one.

The issuer is the address by which the caller has reached it.
"""

import base64
import binascii
import hmac
from typing import Annotated, Final
from urllib.parse import parse_qs, unquote_plus

import msgspec

from broker_lite.security.one_word.tokens import Claims, public_keys, signed_token
from broker_lite.settings.sources.one_word import users_of
from broker_lite.testbench.control.access import kept_of
from broker_lite.testbench.control.resource import Call, Resource
from broker_lite.testbench.errors import ControlError

_BAD_REQUEST: Final = 400
_UNAUTHORIZED: Final = 401
_GRANT: Final = "client_credentials"
_FORM_BYTES_MAX: Final = 64 * 1024
_FIELDS_MAX: Final = 100
_LIFETIME_S: Final = 3600

Seconds = Annotated[int, msgspec.Meta(ge=1, le=10 * 365 * 24 * 3600)]


class TokenQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How a token shall be.

    Attributes:
        seconds: for which it is valid.
    """

    seconds: Seconds = _LIFETIME_S


class Token(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A token.

    Attributes:
        access_token: a signed JWT.
        token_type: Bearer.
        expires_in: seconds.
        scope: as asked for.
    """

    access_token: str
    token_type: str
    expires_in: int
    scope: str = ""


class Discovery(msgspec.Struct, kw_only=True):
    """What OpenID Connect Discovery tells of an issuer.

    Attributes:
        issuer: as in its tokens.
        token_endpoint: where tokens are.
        jwks_uri: where the keys are by which tokens are checked.
        grant_types_supported: client_credentials.
        response_types_supported: token.
        subject_types_supported: public.
        token_endpoint_auth_methods_supported: how name and password are sent.
        id_token_signing_alg_values_supported: RS256.
    """

    issuer: str
    token_endpoint: str
    jwks_uri: str
    grant_types_supported: list[str]
    response_types_supported: list[str]
    subject_types_supported: list[str]
    token_endpoint_auth_methods_supported: list[str]
    id_token_signing_alg_values_supported: list[str]


async def issue_token(call: Call) -> Token:
    """Issue a token for one of the broker's users, by the grant of client credentials.

    The body is a form with grant_type, and with scope and audience if the token is to have them.
    Name and password of the user are client_id and client_secret, in the form or in the header
    Authorization, as Basic.
    """
    query, body, life = call.query, call.body, call.bench.life
    assert isinstance(query, TokenQuery)
    assert isinstance(body, bytes)
    kept = kept_of(life)
    form = _form(body)
    if form.get("grant_type") != _GRANT:
        raise ControlError(_BAD_REQUEST, "unsupported_grant_type")
    pairs = _basic(call.caller.authorization) or [
        (form.get("client_id", ""), form.get("client_secret", ""))
    ]
    users = users_of(life.cluster.settings)
    for name, secret in pairs:
        user = users.get(name)
        if user is not None and hmac.compare_digest(user.password.encode(), secret.encode()):
            break
    else:
        raise ControlError(_UNAUTHORIZED, "invalid_client")
    now_s = life.clock.now_ms() // 1000
    scope = form.get("scope", "")
    audience = form.get("audience", "")
    claims = Claims(_issuer(call), user.name, audience, scope, now_s, now_s + query.seconds)
    token = signed_token(kept.token_key, claims)
    return Token(access_token=token, token_type="Bearer", expires_in=query.seconds, scope=scope)  # noqa: S106 - the word of the protocol


async def keys(call: Call) -> dict[str, object]:
    """Give the keys by which tokens are checked, as a JWK set."""
    return public_keys(kept_of(call.bench.life).token_key)


async def discovery(call: Call) -> Discovery:
    """Tell where tokens and keys are, as OpenID Connect Discovery has it."""
    kept_of(call.bench.life)
    issuer = _issuer(call)
    return Discovery(
        issuer=issuer,
        token_endpoint=f"{issuer}/oauth/token",
        jwks_uri=f"{issuer}/oauth/jwks",
        grant_types_supported=[_GRANT],
        response_types_supported=["token"],
        subject_types_supported=["public"],
        token_endpoint_auth_methods_supported=["client_secret_basic", "client_secret_post"],
        id_token_signing_alg_values_supported=["RS256"],
    )


def _issuer(call: Call) -> str:
    return f"http://{call.caller.host or 'localhost'}"


def _form(body: bytes) -> dict[str, str]:
    if len(body) > _FORM_BYTES_MAX:
        raise ControlError(_BAD_REQUEST, "invalid_request")
    try:
        found = parse_qs(body.decode("ascii"), max_num_fields=_FIELDS_MAX, keep_blank_values=True)
    except ValueError:
        raise ControlError(_BAD_REQUEST, "invalid_request") from None
    return {name: values[-1] for name, values in found.items()}


def _basic(header: str) -> list[tuple[str, str]]:
    """Return name and password of HTTP's Basic: as they are, and as OAuth encodes them first.

    Many clients do not encode them.
    """
    scheme, _, value = header.partition(" ")
    if scheme.lower() != "basic":
        return []
    try:
        name, _, secret = base64.b64decode(value.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise ControlError(_UNAUTHORIZED, "invalid_client") from None
    return [(name, secret), (unquote_plus(name), unquote_plus(secret))]


RESOURCES = (
    Resource("POST", "/oauth/token", issue_token, answer=Token, body=bytes, query=TokenQuery),
    Resource("GET", "/oauth/jwks", keys, answer=dict[str, object]),
    Resource("GET", "/.well-known/openid-configuration", discovery, answer=Discovery),
)
