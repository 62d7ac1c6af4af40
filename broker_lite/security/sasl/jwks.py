"""A set of public keys in JSON (JWKS, RFC 7517), and which of them a signature is made with.

A key that cannot be used is left out, as one of an unknown kind: providers add such keys, and their
other tokens must go on working.

Importing this module imports PyJWT and cryptography, which takes 55 ms and 13 MB.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from jwt import PyJWS
from jwt.algorithms import Algorithm, ECAlgorithm, HMACAlgorithm, OKPAlgorithm, RSAAlgorithm
from jwt.exceptions import InvalidKeyError

KEYS_MAX: Final = 1000
RSA_BITS_MIN: Final = 2048
RSA_BITS_MAX: Final = 16384
"""Checking a signature by a larger key would hold up other clients."""
_KIND_OF: Final = {"RS": "RSA", "PS": "RSA", "ES": "EC", "HS": "oct", "Ed": "OKP"}
_CURVE_OF: Final = {f"ES{bits}": f"P-{size}" for bits, size in ((256, 256), (384, 384), (512, 521))}
_NAMES: Final = (
    *(f"{kind}{bits}" for kind in ("RS", "PS", "ES", "HS") for bits in (256, 384, 512)),
    "EdDSA",
)
_LOADERS: Final[Mapping[str, Callable[[dict[str, Any]], Any]]] = {
    "RSA": RSAAlgorithm.from_jwk,
    "EC": ECAlgorithm.from_jwk,
    "oct": HMACAlgorithm.from_jwk,
    "OKP": OKPAlgorithm.from_jwk,
}


class BadKeySet(ValueError):
    """A text is no set of keys; the message has nothing of the text."""


class Key(NamedTuple):
    """One key of a set.

    Attributes:
        kind: RSA, EC, oct or OKP.
        attributes: what the set says about it, such as its id, algorithm and use.
        key: as the algorithms take it; it may be a secret of HMAC.
    """

    kind: str
    attributes: Mapping[str, object]
    key: Any

    def __repr__(self) -> str:  # type: ignore[explicit-override]
        return f"Key({self.kind}, {self.attributes.get('kid')})"


class KeySet:
    """The keys of an issuer of tokens."""

    def __init__(self, keys: Sequence[Key]) -> None:
        """Keep keys in the order of the set, which counts."""
        self._keys = list(keys)

    def __len__(self) -> int:
        """Return how many keys can be used."""
        return len(self._keys)

    def is_signed(self, header: Mapping[str, object], data: bytes, signature: bytes) -> bool | None:
        """Return whether a signature is right; None if no key fits the header.

        Args:
            header: of a token.
            data: what is signed.
            signature: of it.

        Source: VerificationJwkSelector, the key checks of jose4j's algorithms.
        """
        name = header.get("alg")
        algorithm = ALGORITHMS.get(name) if isinstance(name, str) else None
        if algorithm is None or not isinstance(name, str):
            return False
        kid = header.get("kid")
        if not (kid is None or isinstance(kid, str)):
            return False
        key = self._select(name, kid, header)
        if key is None:
            return None
        return _fits(name, key) and _verify(algorithm, key, data, signature)

    def _select(self, name: str, kid: str | None, header: Mapping[str, object]) -> Key | None:
        """Return the first key that fits."""
        found = [
            key
            for key in self._keys
            if key.kind == _KIND_OF[name[:2]]
            and (kid is None or key.attributes.get("kid") == kid)
            and _may_be(key, "use", "sig")
            and _may_verify(key)
            and all(_may_be(key, hint, header.get(hint)) for hint in ("x5t", "x5t#S256"))
        ]
        if len(found) > 1:
            found = [key for key in found if _may_be(key, "alg", name)]
        if len(found) > 1 and name in _CURVE_OF:
            found = [key for key in found if _may_be(key, "crv", _CURVE_OF[name])]
        return found[0] if found else None


def parse_key_set(data: bytes) -> KeySet:
    """Parse the JSON of a set.

    Raises:
        BadKeySet: it is no JSON, or no set of keys.
    """
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise BadKeySet("it is not JSON") from None
    entries = value.get("keys") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        raise BadKeySet('it has no list of "keys"')
    if len(entries) > KEYS_MAX:
        raise BadKeySet(f"it has more than {KEYS_MAX} keys")
    return KeySet([key for key in map(_key, entries) if key is not None])


def _key(entry: object) -> Key | None:
    """Return a key; None if it is of a kind that is not known, or broken."""
    kind = entry.get("kty") if isinstance(entry, dict) else None
    load = _LOADERS.get(kind) if isinstance(kind, str) else None
    if load is None or not isinstance(entry, dict):
        return None
    try:
        key = load(entry)
    except (InvalidKeyError, ValueError, TypeError, KeyError, AttributeError):
        return None
    public = getattr(key, "public_key", None)
    return Key(str(kind), entry, key if public is None else public())


def _may_be(key: Key, name: str, wanted: object) -> bool:
    """True if the set says nothing about a key, or the wanted thing."""
    said = key.attributes.get(name)
    return wanted is None or said is None or said == wanted


def _may_verify(key: Key) -> bool:
    """True unless the set says that a key is for something else than verifying signatures."""
    operations = key.attributes.get("key_ops")
    return not isinstance(operations, list) or "verify" in operations


def _fits(name: str, key: Key) -> bool:
    """True if a key is as large as the algorithm wants it, and of its curve."""
    if key.kind == "RSA":
        return RSA_BITS_MIN <= int(key.key.key_size) <= RSA_BITS_MAX
    if key.kind == "oct":
        return len(key.key) * 8 >= int(name[2:])
    return key.kind != "EC" or key.attributes.get("crv") == _CURVE_OF[name]


def _verify(algorithm: Algorithm, key: Key, data: bytes, signature: bytes) -> bool:
    return bool(algorithm.verify(data, key.key, signature))


def _algorithms() -> Mapping[str, Algorithm]:
    known = PyJWS()
    return {name: known.get_algorithm_by_name(name) for name in _NAMES}


ALGORITHMS: Final = _algorithms()
"""The algorithms that Kafka accepts, by name; "none" is not among them."""
