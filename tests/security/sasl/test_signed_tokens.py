"""Signed tokens are checked as Kafka checks them; tests.differential has it from a real one."""

from typing import Any

import pytest

from broker_lite.security.sasl.jwks import parse_key_set
from broker_lite.security.sasl.mechanism import Unanswered
from broker_lite.security.sasl.oauthbearer import BadToken
from broker_lite.security.sasl.signed_tokens import SignedTokenRules, SignedTokens
from tests.differential.signed_token_cases import In, Token, key_set_text

NOW = 1_700_000_000


def tokens(missed: list[str] | None = None, **rules: Any) -> SignedTokens:
    keys = parse_key_set(key_set_text())
    return SignedTokens(
        SignedTokenRules(**rules), lambda: keys, [].append if missed is None else missed.append
    )


def check(token: Token, **rules: Any) -> tuple[str, int]:
    return tokens(**rules).check(token.made(NOW), NOW * 1000)


@pytest.mark.parametrize(
    "token",
    [
        Token("RS256"),
        Token("PS512"),
        Token("ES384", "ec384"),
        Token("EdDSA", "ed"),
        Token("HS256", "oct"),
        Token(header={"alg": "RS256"}),
        Token(claims={"sub": " alice "}),
        Token(claims={"exp": In(300.7)}),
        Token(claims={"scope": ["a", "b"]}),
    ],
)
def test_x29_who_is_let_in(token: Token) -> None:
    assert check(token) == ("alice", (NOW + 300) * 1000)


@pytest.mark.parametrize(
    "token",
    [
        Token("RS256", "stranger", {"alg": "RS256", "kid": "rsa"}),
        Token("RS256", "small"),
        Token("ES256", "ec384"),
        Token(header={"alg": "none", "kid": "rsa"}),
        Token(header={"alg": "HS256", "kid": "rsa"}),
        Token(header={"alg": "RS256", "kid": 7}),
        Token(header={"alg": "RS256", "kid": "signs-only"}),
        Token(header={"alg": "RS256", "kid": "rsa", "crit": ["exp"]}),
        Token(header={"alg": "RS256", "kid": "rsa", "cty": "JWT"}),
        Token(header={"alg": "RS256", "kid": "rsa", "b64": False}),
        Token(claims={"exp": In(-30)}),
        Token(claims={"exp": ...}),
        Token(claims={"exp": "x"}),
        Token(claims={"iat": ...}),
        Token(claims={"iat": In(301)}),
        Token(claims={"iat": -5}),
        Token(claims={"nbf": In(31)}),
        Token(claims={"sub": " "}),
        Token(claims={"aud": "kafka"}),
        Token(claims={"iss": 7}),
        Token(claims={"jti": 7}),
        Token(claims={"scope": ["a", "a"]}),
        Token(change=lambda good: good + ".x"),
        Token(change=lambda good: good.rpartition(".")[0] + "."),
        Token(change=lambda good: "\u00e9" + good),
        Token(change=lambda good: "e30.e30." + "A" * 300),
        Token(change=lambda _: "eyJhbGciOiJSUzI1NiIsImFsZyI6IlJTMjU2In0.e30.AAAA"),
    ],
)
def test_x29_who_is_refused(token: Token) -> None:
    with pytest.raises(BadToken, match="invalid_token"):
        check(token)


@pytest.mark.parametrize("claims", [{"exp": 1e30}, {"scope": ["a", 7]}])
def test_x29_where_kafka_just_closes(claims: Any) -> None:
    with pytest.raises(Unanswered):
        check(Token(claims=claims))


def test_x29_issuer_audience_and_names_of_claims() -> None:
    rules = {
        "issuer": "https://issuer",
        "audiences": ("kafka", "other"),
        "skew_ms": 0,
        "name_claim": "client_id",
        "scope_claim": "scp",
    }
    good = {"iss": "https://issuer", "aud": ["x", "other"], "client_id": "app", "sub": ...}
    assert check(Token(claims=good), **rules)[0] == "app"
    for bad in (
        {"iss": ...},
        {"iss": "https://other"},
        {"aud": ...},
        {"aud": "x"},
        {"aud": ["kafka", 7]},
        {"client_id": ...},
        {"exp": In(0)},
        {"scp": ""},
    ):
        with pytest.raises(BadToken):
            check(Token(claims={**good, **bad}), **rules)


def test_x29_a_key_that_is_not_there_is_told() -> None:
    missed: list[str] = []
    with pytest.raises(BadToken):
        tokens(missed).check(Token(key="stranger").made(NOW), NOW * 1000)
    assert missed == ["stranger"]
    nothing = SignedTokens(SignedTokenRules(), lambda: None, missed.append)
    with pytest.raises(BadToken):
        nothing.check(Token().made(NOW), NOW * 1000)
    assert missed == ["stranger", "rsa"]
