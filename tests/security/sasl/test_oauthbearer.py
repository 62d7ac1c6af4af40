"""The broker's side of OAUTHBEARER with unsecured tokens."""

import base64
import json
from functools import partial
from typing import Any

import pytest

from broker_lite.security.sasl.mechanism import InvalidCredentials, Refused, Step, Unanswered
from broker_lite.security.sasl.oauthbearer import OAuthBearer, TokenRules, check_unsecured

NOW_MS = 1_700_000_000_000
NOW = NOW_MS // 1000


def unsecured(rules: TokenRules | None = None) -> OAuthBearer:
    return OAuthBearer(partial(check_unsecured, rules or TokenRules()))


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def message(tail: str = "", header: Any = None, wanted: str = "", **claims: Any) -> bytes:
    body = {"sub": "alice", "exp": NOW + 10, **claims}
    token = f"{part(header or {'alg': 'none'})}.{part(body)}.{tail}"
    return f"n,{wanted},\x01auth=Bearer {token}\x01\x01".encode()


def test_x26_x30_success_and_when_the_token_expires() -> None:
    step = unsecured().take(message(wanted="a=alice"), NOW_MS)
    assert step == Step(b"", "alice", NOW_MS + 10_000)
    with pytest.raises(Refused, match=r"id \(bob\) that is .* principal name \(alice\)"):
        unsecured().take(message(wanted="a=bob"), NOW_MS)


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": NOW},
        {"exp": "x"},
        {"exp": True},
        {"exp": 1e300},
        {"sub": " "},
        {"sub": 1},
        {"iat": NOW + 1},
        {"iat": None},
        {"iat": NOW + 10},
        {"tail": "c2ln"},
        {"header": {"alg": "HS256"}},
        {"header": [1]},
    ],
)
def test_x27_x28_tokens_that_are_refused(claims: dict[str, Any]) -> None:
    exchange = unsecured()
    assert exchange.take(message(**claims), NOW_MS).answer == b'{"status":"invalid_token"}'
    with pytest.raises(Refused, match="invalid_token"):
        exchange.take(b"\x01", NOW_MS)


@pytest.mark.parametrize("token", ["abc", "a.b.", "%.b.", "a", "W1s.W1s.", "e30.e30."])
def test_x28_what_is_no_token(token: str) -> None:
    asked = f"n,,\x01auth=Bearer {token}\x01\x01".encode()
    try:
        assert b"invalid_token" in unsecured().take(asked, NOW_MS).answer
    except InvalidCredentials:
        assert token == "%.b."


def test_x28_scope_and_skew() -> None:
    rules = TokenRules(required_scope=("read", "write"), skew_ms=1000)
    assert unsecured(rules).take(message(scope="write read"), NOW_MS).name == "alice"
    assert unsecured(rules).take(message(scope=["read", "write"], exp=NOW), NOW_MS).name
    refused = unsecured(rules).take(message(scope="read"), NOW_MS).answer
    assert refused == b'{"status":"insufficient_scope", "scope":"[read, write]"}'


@pytest.mark.parametrize("asked", [b"", b"\x01", b"n,,\x01\x01", b"n,,\x01auth=Bearer\x01\x01"])
def test_x25_what_is_no_message(asked: bytes) -> None:
    with pytest.raises(InvalidCredentials):
        unsecured().take(asked, NOW_MS)


def test_x25_another_scheme() -> None:
    with pytest.raises(Unanswered):
        unsecured().take(b"n,,\x01auth=Basic abc\x01\x01", NOW_MS)
