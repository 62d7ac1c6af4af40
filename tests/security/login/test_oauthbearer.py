"""The client's side of OAUTHBEARER, against the broker's."""

from functools import partial

import pytest

from broker_lite.security.login.mechanism import BrokerRefused
from broker_lite.security.login.oauthbearer import (
    OAuthBearerLogin,
    UnsecuredClaims,
    check_extensions,
)
from broker_lite.security.sasl.mechanism import Refused
from broker_lite.security.sasl.oauthbearer import OAuthBearer, TokenRules, check_unsecured

NOW_MS = 1_700_000_000_123


def login(now_ms: int = NOW_MS) -> OAuthBearerLogin:
    claims = UnsecuredClaims({"sub": "alice", "scope": ["a", "b"]}, 60)
    return OAuthBearerLogin(lambda: claims.token(now_ms), {"trace": "one two"})


def test_x25_x26_x28_a_token_that_the_broker_accepts() -> None:
    client = login()
    rules = TokenRules(required_scope=("a", "b"))
    step = OAuthBearer(partial(check_unsecured, rules)).take(client.first(), NOW_MS)
    assert (step.name, step.expires_ms) == ("alice", NOW_MS + 60_000)
    assert client.take(step.answer) is None


def test_x27_a_token_that_is_refused() -> None:
    client, broker = login(), OAuthBearer(partial(check_unsecured, TokenRules()))
    step = broker.take(client.first(), NOW_MS + 60_000)
    confirmation = client.take(step.answer)
    assert confirmation == b"\x01"
    with pytest.raises(Refused, match="invalid_token"):
        broker.take(confirmation, NOW_MS)
    with pytest.raises(BrokerRefused, match="does not say so"):
        client.take(b"")


@pytest.mark.parametrize("token", ["", "a b", "a\x01b", "é"])
def test_what_is_no_token(token: str) -> None:
    with pytest.raises(BrokerRefused, match="characters that no token has"):
        OAuthBearerLogin(lambda: token, {}).first()


@pytest.mark.parametrize(("name", "value"), [("auth", "x"), ("a1", "x"), ("a", ""), ("a", "\x01")])
def test_what_is_no_extension(name: str, value: str) -> None:
    check_extensions({"trace": "one two"})
    with pytest.raises(ValueError, match=f"the extension {name} has to be"):
        check_extensions({name: value})
