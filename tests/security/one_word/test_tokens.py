import base64
import json
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from broker_lite.security.one_word.maker import make
from broker_lite.security.one_word.tokens import Claims, public_keys, signed_token, verified

CLAIMS = Claims("http://localhost:9099", "user", "kafka", "", 1_700_000_000, 1_700_003_600)


@pytest.fixture(scope="module")
def key() -> dict[str, str]:
    made = make({"names": ["x"], "users": [], "ca": "", "ca_key": "", "token_key": {}})
    found = made["token_key"]
    assert isinstance(found, dict)
    return found


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def number(text: str) -> int:
    return int.from_bytes(decoded(text), "big")


def parts(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    header, body, _ = token.split(".")
    return json.loads(decoded(header)), json.loads(decoded(body))


def verify(key: dict[str, str], token: str) -> None:
    (public,) = public_keys(key)["keys"]  # type: ignore[misc]
    numbers = rsa.RSAPublicNumbers(number(public["e"]), number(public["n"]))
    signed, _, signature = token.rpartition(".")
    numbers.public_key().verify(
        decoded(signature), signed.encode(), padding.PKCS1v15(), hashes.SHA256()
    )


def test_another_library_verifies_signatures(key: dict[str, str]) -> None:
    for count in range(20):
        verify(key, signed_token(key, CLAIMS._replace(subject=f"u{count}")))


def test_another_text_is_not_verified(key: dict[str, str]) -> None:
    one, other = (signed_token(key, CLAIMS._replace(subject=name)) for name in "ab")
    with pytest.raises(InvalidSignature):
        verify(key, one.rpartition(".")[0] + "." + other.rpartition(".")[2])


def test_what_a_token_says(key: dict[str, str]) -> None:
    header, body = parts(signed_token(key, CLAIMS._replace(scope="a b")))
    (public,) = public_keys(key)["keys"]  # type: ignore[misc]
    assert header == {"alg": "RS256", "typ": "JWT", "kid": public["kid"]}
    assert len(body.pop("jti")) == 16
    assert body == {
        "iss": CLAIMS.issuer,
        "sub": "user",
        "aud": "kafka",
        "iat": 1_700_000_000,
        "exp": 1_700_003_600,
        "scope": "a b",
    }


def test_no_scope_and_no_audience_are_left_out(key: dict[str, str]) -> None:
    body = parts(signed_token(key, CLAIMS._replace(audience="")))[1]
    assert not {"scope", "aud"} & body.keys()


def test_the_issuer_knows_its_own_tokens(key: dict[str, str]) -> None:
    for claims in (CLAIMS, CLAIMS._replace(scope="a", audience="")):
        assert verified(key, signed_token(key, claims), CLAIMS.expires_s - 1) == claims
        assert verified(key, signed_token(key, claims), CLAIMS.expires_s) is None


def test_no_other_token_is_its_own(key: dict[str, str]) -> None:
    token = signed_token(key, CLAIMS)
    head, body, signature = token.split(".")
    other = signed_token(key, CLAIMS._replace(subject="admin"))
    zero = "A" * len(signature)
    for wrong in (
        *("", ".", "..", "a", "ä" * len(token), f"{head}.{body}", f"{head}.{body}.", f"{token}A"),
        *(f"{head}.{body}.{zero}", f"{head}.{other.split('.')[1]}.{signature}"),
        *(token[:-1], f"{token[:-1]}ä", f".{signature}", "x" * 100_000),
    ):
        assert verified(key, wrong, CLAIMS.issued_s) is None


def test_every_changed_character_is_noticed(key: dict[str, str]) -> None:
    token = signed_token(key, CLAIMS)
    for place in range(0, len(token), 7):
        other = "A" if token[place] != "A" else "B"
        wrong = f"{token[:place]}{other}{token[place + 1 :]}"
        assert verified(key, wrong, CLAIMS.issued_s) is None


def test_only_the_public_part_is_told(key: dict[str, str]) -> None:
    (public,) = public_keys(key)["keys"]  # type: ignore[misc]
    assert sorted(public) == ["alg", "e", "kid", "kty", "n", "use"]
