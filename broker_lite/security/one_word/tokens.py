"""Signed tokens (RFC 7519, RS256) of the broker's own issuer, for users under test.

A signature is one number raised to the power of another, which Python does in a few milliseconds.
The library that makes the key takes 40 ms and 12 MB to import, so it is not used here. It is of no
use that a signature takes longer for one key than for another: whoever may ask the issuer may ask
it for any token.
"""

import base64
import hashlib
import json
import secrets
from collections.abc import Mapping
from typing import Final, NamedTuple

_ALGORITHM: Final = "RS256"
# The DigestInfo of SHA-256 in front of the hash (RFC 8017, 9.2).
_SHA256: Final = bytes.fromhex("3031300d060960864801650304020105000420")
_KEY_ID_CHARACTERS: Final = 16
_ID_BYTES: Final = 12
_TOKEN_CHARACTERS_MAX: Final = 64 * 1024


class Claims(NamedTuple):
    """What a token says.

    Attributes:
        issuer: URL of the issuer.
        subject: the user's name.
        audience: for whom it is; empty for nobody, which a Kafka wants that expects none.
        scope: of the rights; empty for none.
        issued_s: seconds since 1970.
        expires_s: seconds since 1970.
    """

    issuer: str
    subject: str
    audience: str
    scope: str
    issued_s: int
    expires_s: int


def public_keys(key: Mapping[str, str]) -> dict[str, object]:
    """Return the JWK set by which tokens are checked.

    Args:
        key: the private key, as a JWK.
    """
    public = {"kty": key["kty"], "n": key["n"], "e": key["e"]}
    return {"keys": [{**public, "alg": _ALGORITHM, "use": "sig", "kid": _key_id(key)}]}


def signed_token(key: Mapping[str, str], claims: Claims) -> str:
    """Return a signed token.

    Args:
        key: the private key, as a JWK.
        claims: what it says.
    """
    header = {"alg": _ALGORITHM, "typ": "JWT", "kid": _key_id(key)}
    body: dict[str, object] = {
        "iss": claims.issuer,
        "sub": claims.subject,
        "iat": claims.issued_s,
        "exp": claims.expires_s,
        "jti": secrets.token_urlsafe(_ID_BYTES),
    }
    if claims.audience:
        body["aud"] = claims.audience
    if claims.scope:
        body["scope"] = claims.scope
    text = f"{_part(header)}.{_part(body)}"
    return f"{text}.{_base64url(_signature(key, text.encode()))}"


def verified(key: Mapping[str, str], token: str, now_s: float) -> Claims | None:
    """Return what a token of this issuer says; None if it is no such token, or has expired.

    Args:
        key: the private key, as a JWK; only its public part is used.
        token: as it came.
        now_s: seconds since 1970.
    """
    text, _, signature = token.rpartition(".")
    exponent, modulus = _number(key["e"]), _number(key["n"])
    size_bytes = (modulus.bit_length() + 7) // 8
    if len(token) > _TOKEN_CHARACTERS_MAX or len(signature) != (size_bytes * 8 + 5) // 6:
        return None
    try:
        # All other bytes than those of the one right signature are refused here.
        signed = pow(_number(signature), exponent, modulus)
        claims = json.loads(base64.urlsafe_b64decode(_padded(text.partition(".")[2])))
    except ValueError:
        return None
    if signed != _message(text.encode(), size_bytes) or claims["exp"] <= now_s:
        return None
    return Claims(
        *(claims["iss"], claims["sub"], claims.get("aud", ""), claims.get("scope", "")),
        *(claims["iat"], claims["exp"]),
    )


def _signature(key: Mapping[str, str], data: bytes) -> bytes:
    """Sign by RSASSA-PKCS1-v1_5 (RFC 8017, 8.2.1), with the two primes of the key."""
    p, q, dp, dq, qi, n = (_number(key[name]) for name in ("p", "q", "dp", "dq", "qi", "n"))
    size_bytes = (n.bit_length() + 7) // 8
    message = _message(data, size_bytes)
    of_q = pow(message, dq, q)
    signature = of_q + (pow(message, dp, p) - of_q) * qi % p * q
    return signature.to_bytes(size_bytes, "big")


def _message(data: bytes, size_bytes: int) -> int:
    """Return what is signed instead of data: its hash, made as long as the key."""
    digest = _SHA256 + hashlib.sha256(data).digest()
    padding = b"\xff" * (size_bytes - len(digest) - 3)
    return int.from_bytes(b"\x00\x01" + padding + b"\x00" + digest, "big")


def _key_id(key: Mapping[str, str]) -> str:
    return hashlib.sha256(key["n"].encode()).hexdigest()[:_KEY_ID_CHARACTERS]


def _part(value: Mapping[str, object]) -> str:
    return _base64url(json.dumps(value, separators=(",", ":")).encode())


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _number(text: str) -> int:
    return int.from_bytes(base64.urlsafe_b64decode(_padded(text)), "big")


def _padded(text: str) -> str:
    return text + "=" * (-len(text) % 4)
