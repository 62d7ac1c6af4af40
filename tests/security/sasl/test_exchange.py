"""The states of an authentication, and the sessions after it."""

import pytest

from broker_lite.errors import ErrorCode
from broker_lite.security.principal import Principal
from broker_lite.security.sasl.exchange import (
    Authenticated,
    Exchange,
    SaslRules,
    Session,
    SessionOver,
    State,
)
from broker_lite.security.sasl.mechanism import InvalidCredentials, Step
from broker_lite.security.sasl.plain import Plain

HANDSHAKE, METADATA, NOW = 17, 3, 1_000_000


class Token:
    """A mechanism whose message is the name, with an end."""

    def take(self, message: bytes, now_ms: int) -> Step:
        if not message:
            raise InvalidCredentials("nobody")
        return Step(b"hi", message.decode(), now_ms + 5000)


def rules(session_ms_max: int = 0) -> SaslRules:
    makers = {"PLAIN": lambda: Plain({"a": "x", "b": "y"}), "TOKEN": Token}
    return SaslRules(makers, dict.fromkeys(makers, session_ms_max), 1000, 100)


def begun(mechanism: str = "PLAIN", session_ms_max: int = 0, version: int = 1) -> Exchange:
    exchange = Exchange(rules(session_ms_max))
    exchange.versions_told()
    assert exchange.shake_hands(mechanism, version)
    return exchange


def test_x05_x06_x09_states() -> None:
    exchange = Exchange(rules())
    assert exchange.state is State.START
    assert exchange.offered == ["PLAIN", "TOKEN"]
    assert not exchange.shake_hands("GSSAPI", 1)
    assert begun().state is State.AUTHENTICATE
    assert begun(version=0).state is State.RAW


def test_x10_x11_refusals() -> None:
    reply = begun().take(b"\0a\0wrong", NOW)
    assert reply.code is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert reply.message == "Authentication failed: Invalid username or password"
    assert begun("TOKEN").take(b"", NOW).message == (
        "Authentication failed during authentication due to invalid credentials with SASL "
        "mechanism TOKEN"
    )


@pytest.mark.parametrize(
    ("mechanism", "session_ms_max", "lifetime_ms"),
    [
        ("PLAIN", 0, 0),
        ("PLAIN", 70, 70),
        ("TOKEN", 0, 5000),
        ("TOKEN", 70, 70),
        ("TOKEN", 9000, 5000),
    ],
)
def test_x30_x31_x32_lifetimes(mechanism: str, session_ms_max: int, lifetime_ms: int) -> None:
    exchange = begun(mechanism, session_ms_max)
    assert (
        exchange.take(b"\0a\0x" if mechanism == "PLAIN" else b"a", NOW).lifetime_ms == lifetime_ms
    )
    assert exchange.session is not None
    assert exchange.session.expires_ms == (NOW + lifetime_ms if lifetime_ms else None)


def authenticated(expires_ms: int | None) -> Authenticated:
    return Authenticated(rules(2000), Session("PLAIN", Principal("User", "a"), expires_ms))


def test_x12_x33_x34_when_a_session_is_renewed() -> None:
    assert not authenticated(None).renews(HANDSHAKE, NOW)
    one = authenticated(NOW)
    assert one.refusal_delay_ms == 100
    assert not one.renews(METADATA, NOW - 1)
    with pytest.raises(SessionOver, match="User:a"):
        one.renews(METADATA, NOW)
    assert one.renews(HANDSHAKE, NOW + 1)
    assert one.renews(METADATA, NOW + 1)  # it belongs to the exchange, which refuses it
    assert one.exchange is not None
    one.renewed()
    assert one.exchange is not None
    assert one.exchange.shake_hands("PLAIN", 1)
    assert one.exchange.take(b"\0a\0x", NOW + 2).lifetime_ms == 2000
    one.renewed()
    assert one.session.expires_ms == NOW + 2002
    assert not one.renews(HANDSHAKE, NOW + 1000)  # too soon
    assert one.renews(HANDSHAKE, NOW + 1001)


def test_x35_another_mechanism_or_principal() -> None:
    one = authenticated(NOW)
    one.renews(HANDSHAKE, NOW)
    assert one.exchange is not None
    assert one.exchange.shake_hands("TOKEN", 1)
    assert one.exchange.state is State.WRONG_MECHANISM
    two = Exchange(rules(), one.session)
    two.shake_hands("PLAIN", 1)
    assert two.take(b"\0b\0y", NOW).message == (
        "Cannot change principals during re-authentication from User.a: User.b"
    )
