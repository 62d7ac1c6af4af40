"""Signed tokens of OAUTHBEARER, good ones and bad ones, and the keys that they are signed with."""

import base64
import hmac
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils

from tests.differential.compare_sasl import Step, bearer

HANDLER: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
_OCT: Final = b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
_HASHES: Final = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}
_CURVES: Final = {"ec256": ec.SECP256R1(), "ec384": ec.SECP384R1(), "ec521": ec.SECP521R1()}


def settings(listener: str, url: str, **more: str) -> dict[str, str]:
    """The settings of a listener whose tokens are signed; names of settings have _ for dots."""
    prefix = f"listener.name.{listener.lower()}."
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
    return {
        prefix + "sasl.enabled.mechanisms": "OAUTHBEARER",
        prefix + "oauthbearer.sasl.jaas.config": module,
        prefix + "oauthbearer.sasl.server.callback.handler.class": HANDLER,
        prefix + "oauthbearer.sasl.oauthbearer.jwks.endpoint.url": url,
        **{
            f"{prefix}oauthbearer.sasl.oauthbearer.{name.replace('_', '.')}": value
            for name, value in more.items()
        },
    }


STRICT: Final = {
    "expected_issuer": "https://issuer",
    "expected_audience": "kafka,other",
    "clock_skew_seconds": "10",
    "scope_claim_name": "scp",
    "sub_claim_name": "client_id",
}


class In(NamedTuple):
    """A time so many seconds after the token is made."""

    seconds: float


class Token(NamedTuple):
    """A token that is made when it is needed, because it has the time in it."""

    algorithm: str = "RS256"
    key: str = "rsa"
    header: Any = None
    claims: Mapping[str, Any] = MappingProxyType({})
    change: Callable[[str], str] = str

    def made(self, now: int) -> str:
        """The token, at a time in seconds."""
        claims = {"sub": "alice", "iat": In(-5), "exp": In(300), "scope": "kafka", **self.claims}
        told = {
            name: now + value.seconds if isinstance(value, In) else value
            for name, value in claims.items()
            if value is not ...
        }
        header = self.header
        if header is None:
            header = {"alg": self.algorithm, "kid": self.key}
        text = f"{b64(json.dumps(header).encode())}.{b64(json.dumps(told).encode())}"
        made = f"{text}.{b64(signature(self.algorithm, keys()[self.key], text.encode()))}"
        return self.change(made)


def b64(data: bytes) -> str:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _number(value: int, size: int = 0) -> str:
    return b64(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


@cache
def keys() -> dict[str, Any]:
    """The private keys by their ids; `stranger` is in no set."""
    made: dict[str, Any] = {
        name: rsa.generate_private_key(65537, bits)
        for name, bits in (("rsa", 2048), ("rsa2", 2048), ("stranger", 2048), ("small", 1024))
    }
    made.update({name: ec.generate_private_key(curve) for name, curve in _CURVES.items()})
    made["ed"] = ed25519.Ed25519PrivateKey.generate()
    made["oct"] = _OCT
    return made


def jwk(name: str) -> dict[str, Any]:
    """The public key, or the secret one of HMAC, as a set has it."""
    key = keys()[name]
    if isinstance(key, bytes):
        return {"kty": "oct", "kid": name, "k": b64(key)}
    if isinstance(key, rsa.RSAPrivateKey):
        numbers = key.public_key().public_numbers()
        return {"kty": "RSA", "kid": name, "n": _number(numbers.n), "e": _number(numbers.e)}
    if isinstance(key, ec.EllipticCurvePrivateKey):
        point = key.public_key().public_numbers()
        size = (key.key_size + 7) // 8
        place = {"x": _number(point.x, size), "y": _number(point.y, size)}
        return {"kty": "EC", "kid": name, "crv": f"P-{key.key_size}", **place}
    return {
        "kty": "OKP",
        "kid": name,
        "crv": "Ed25519",
        "x": b64(key.public_key().public_bytes_raw()),
    }


def key_set() -> dict[str, Any]:
    """The set of keys that a broker is given."""
    rsa2 = {**jwk("rsa2"), "use": "enc", "kid": "for-encryption"}
    named = {**jwk("rsa2"), "use": "sig", "alg": "RS512", "x5t": "xyz"}
    signs = {**jwk("rsa"), "kid": "signs-only", "key_ops": ["sign"]}
    names = ("rsa", "small", "ec256", "ec384", "ec521", "ed", "oct")
    return {"keys": [*map(jwk, names), named, rsa2, signs, {"kty": "unknown", "kid": "x"}]}


def key_set_text() -> bytes:
    """The same as JSON."""
    return json.dumps(key_set()).encode()


def signature(algorithm: str, key: Any, data: bytes) -> bytes:
    """Sign as an algorithm of JWS does."""
    kind, digest = algorithm[:2], _HASHES.get(algorithm[2:])
    if kind == "HS":
        return hmac.digest(key, data, f"sha{algorithm[2:]}")
    if kind == "Ed":
        return key.sign(data)  # type: ignore[no-any-return]
    assert digest is not None
    if kind == "RS":
        return key.sign(data, padding.PKCS1v15(), digest)  # type: ignore[no-any-return]
    if kind == "PS":
        salted = padding.PSS(padding.MGF1(digest), digest.digest_size)
        return key.sign(data, salted, digest)  # type: ignore[no-any-return]
    r, s = utils.decode_dss_signature(key.sign(data, ec.ECDSA(digest)))
    size = (key.key_size + 7) // 8
    return r.to_bytes(size, "big") + s.to_bytes(size, "big")


def algorithm_tokens() -> Iterator[Token]:
    """Tokens that differ in how they are signed."""
    for bits in ("256", "384", "512"):
        yield Token(f"RS{bits}")
        yield Token(f"PS{bits}")
        yield Token(f"HS{bits}", "oct")
    for algorithm, key in (("ES256", "ec256"), ("ES384", "ec384"), ("ES512", "ec521")):
        yield Token(algorithm, key)
        yield Token(algorithm, key, {"alg": algorithm})
    yield Token("ES256", "ec384")
    yield Token("ES512", "ec256")
    yield Token("EdDSA", "ed")
    yield Token("RS256", "small")
    yield Token("RS256", "stranger")
    yield Token("RS256", "stranger", {"alg": "RS256", "kid": "rsa"})
    yield Token("RS256", "rsa2")
    yield Token("RS512", "rsa2")
    yield Token("RS256", "rsa2", {"alg": "RS256", "kid": "for-encryption"})
    yield from _header_tokens()
    yield from _changed_tokens()


def _header_tokens() -> Iterator[Token]:
    for header in (
        {"alg": "RS256"},
        {"alg": "RS256", "kid": ""},
        {"alg": "RS256", "kid": 7},
        {"alg": "RS256", "kid": None},
        {"alg": "RS256", "kid": "x"},
        {"alg": "RS256", "kid": "rsa", "typ": "at+jwt"},
        {"alg": "RS256", "kid": "rsa", "crit": ["x"], "x": 1},
        {"alg": "RS256", "kid": "rsa", "crit": ["exp"]},
        {"alg": "RS256", "kid": "rsa", "crit": []},
        {"alg": "RS256", "kid": "rsa", "crit": "b64"},
        {"alg": "RS256", "kid": "rsa", "b64": False},
        {"alg": "RS256", "kid": "rsa", "x5t": "abc"},
        {"alg": "RS256", "kid": "rsa2", "x5t": "abc"},
        {"alg": "RS256", "kid": "signs-only"},
        {"alg": "RS256", "kid": "rsa", "cty": "JWT"},
        {"alg": "RS256", "kid": "rsa", "b64": True, "crit": ["b64"]},
        {"alg": "RS256", "kid": "ec256"},
        {"alg": "rs256", "kid": "rsa"},
        {"alg": "none", "kid": "rsa"},
        {"alg": "HS256", "kid": "rsa"},
        {"alg": 5, "kid": "rsa"},
        {"kid": "rsa"},
        {"alg": "RS256", "kid": "rsa", "jwk": jwk("stranger")},
        [],
    ):
        yield Token("RS256", "rsa", header)


def _changed_tokens() -> Iterator[Token]:
    unsigned = b64(b'{"alg":"none"}')
    changes: tuple[Callable[[str], str], ...] = (
        lambda good: f"{unsigned}.{good.split('.')[1]}.",
        lambda good: good[:-4],
        lambda good: good[:-1] + ("A" if good[-1] not in "ABCD" else "Q"),
        lambda good: good + "=",
        lambda good: good + "==",
        lambda good: good + "A",
        lambda good: good + "AAAA",
        lambda good: good + "~",
        lambda good: good.rpartition(".")[0] + ".",
        lambda good: good.rpartition(".")[0],
        lambda good: good + ".x",
        lambda good: good.replace("-", "+").replace("_", "/"),
        lambda _: "a.b.c",
        lambda _: "...",
        lambda good: good.replace(".", "=.", 1),
        lambda good: f".{good}",
    )
    for change in changes:
        yield Token(change=change)


def claim_tokens() -> Iterator[Token]:
    """Tokens that differ in their claims, first in who they are of and until when."""
    for claims in (
        {},
        {"sub": ""},
        {"sub": " "},
        {"sub": " alice "},
        {"sub": 7},
        {"sub": None},
        {"sub": ...},
        {"exp": ...},
        {"exp": None},
        {"exp": "soon"},
        {"exp": "1900000000"},
        {"exp": In(-1)},
        {"exp": In(-29)},
        {"exp": In(-31)},
        {"exp": In(300.5)},
        {"exp": -5},
        {"exp": 1 << 70},
        {"exp": 1e30},
        {"exp": True},
        {"exp": 1 << 60},
        {"iat": -(1 << 60)},
        {"nbf": -(1 << 60)},
    ):
        yield Token(claims=claims)
    yield from _other_claim_tokens()


def _other_claim_tokens() -> Iterator[Token]:
    for claims in (
        {"iat": ...},
        {"iat": None},
        {"iat": "x"},
        {"iat": In(100), "exp": In(400)},
        {"iat": In(400)},
        {"iat": -5},
        {"nbf": In(20)},
        {"nbf": In(100)},
        {"nbf": In(400)},
        {"nbf": "x"},
        {"nbf": None},
        {"scope": ""},
        {"scope": " "},
        {"scope": ...},
        {"scope": None},
        {"scope": 7},
        {"scope": ["a", "b"]},
        {"scope": ["a", "a"]},
        {"scope": ["a", ""]},
        {"scope": ["a", 7]},
        {"scope": [None]},
        {"scope": []},
        {"scope": {"a": 1}},
        {"scope": "a a"},
        {"aud": "kafka"},
        {"aud": ["kafka"]},
        {"aud": []},
        {"aud": None},
        {"aud": 7},
        {"iss": "somebody"},
        {"iss": 7},
        {"iss": None},
        {"jti": 7},
        {"jti": "id"},
    ):
        yield Token(claims=claims)


def strict_tokens() -> Iterator[Token]:
    """Tokens for a listener that expects an issuer and an audience."""
    good = {"iss": "https://issuer", "aud": "kafka", "client_id": "alice", "scp": "kafka"}
    for claims in (
        {},
        {"sub": ...},
        {"iss": "https://other"},
        {"iss": ...},
        {"iss": None},
        {"iss": ["https://issuer"]},
        {"aud": "else"},
        {"aud": ["else", "other"]},
        {"aud": ["kafka", 7]},
        {"aud": ...},
        {"client_id": ...},
        {"client_id": 7},
        {"scp": ...},
        {"scp": ["a", "a"]},
        {"scope": ["a", "a"]},
        {"exp": In(-5)},
        {"exp": In(-12)},
        {"nbf": In(8)},
        {"nbf": In(15)},
    ):
        yield Token(claims={**good, **claims})


def exchange(token: Token, now: int) -> list[Step]:
    """The exchange with one token."""
    message = bearer(token.made(now))
    return [("handshake", 1, "OAUTHBEARER"), ("token", 2, message), ("token", 2, b"\x01")]


def more_exchanges(now: int) -> Iterator[list[Step]]:
    """Messages that differ in what is around a good token."""
    hello: Step = ("handshake", 1, "OAUTHBEARER")
    good = Token().made(now)
    for message in (
        bearer(good, "a=alice"),
        bearer(good, "a=bob"),
        bearer(good, scheme="BEARER"),
        b"n,,\x01auth=Bearer " + good.encode() + b"\x01trace=abc\x01\x01",
    ):
        yield [hello, ("token", 2, message)]
    yield [hello, ("token", 2, bearer("x")), ("token", 2, bearer(good))]
