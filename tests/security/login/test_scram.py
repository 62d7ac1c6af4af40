"""The client's side of SCRAM: the vector of RFC 7677, the broker's side, and brokers that lie."""

import base64
from contextlib import suppress
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_lite.security.login.mechanism import BrokerRefused
from broker_lite.security.login.scram import ScramLogin
from broker_lite.security.sasl.mechanism import InvalidCredentials
from broker_lite.security.sasl.scram import Scram
from broker_lite.security.sasl.scram_keys import keys_of, salted

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_NONCE = f"{NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SALT = "W22ZaJ0SNY7soEsUEjb6gQ=="
SERVER_FIRST = f"r={SERVER_NONCE},s={SALT},i=4096".encode()
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


class Stored(NamedTuple):
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


def login(name: str = "user", password: str = "pencil") -> ScramLogin:
    return ScramLogin("SCRAM-SHA-256", name, password, NONCE)


def test_x17_x20_x21_x22_the_vector_of_the_rfc() -> None:
    client = login()
    assert client.first() == f"n,,n=user,r={NONCE}".encode()
    proof = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert client.take(SERVER_FIRST) == f"c=biws,r={SERVER_NONCE},p={proof}".encode()
    assert client.take(SERVER_FINAL) is None


@pytest.mark.parametrize(
    ("mechanism", "hash_name"), [("SCRAM-SHA-256", "sha256"), ("SCRAM-SHA-512", "sha512")]
)
@pytest.mark.parametrize("name", ["alice", "a,=b"])
def test_x17_with_the_broker(mechanism: str, hash_name: str, name: str) -> None:
    keys = keys_of(salted("secrét", b"salt", 4096, hash_name), hash_name)
    stored = Stored(b"salt", keys.stored_key, keys.server_key, 4096)
    broker = Scram(mechanism, {name: stored}.get, lambda: "more")
    client = ScramLogin(mechanism, name, "secrét", "nonce")
    final = client.take(broker.take(client.first(), 0).answer)
    assert final is not None
    step = broker.take(final, 0)
    assert step.name == name
    assert client.take(step.answer) is None


def test_a_wrong_password() -> None:
    keys = keys_of(salted("right", b"salt", 4096, "sha256"), "sha256")
    stored = Stored(b"salt", keys.stored_key, keys.server_key, 4096)
    broker = Scram("SCRAM-SHA-256", lambda _: stored, lambda: "more")
    client = login(password="wrong")
    final = client.take(broker.take(client.first(), 0).answer)
    assert final is not None
    with pytest.raises(InvalidCredentials):
        broker.take(final, 0)


def test_a_delegation_token() -> None:
    client = ScramLogin("SCRAM-SHA-512", "id", "hmac", "abc", {"tokenauth": "true"})
    assert client.first() == b"n,,n=id,r=abc,tokenauth=true"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
        (b"e=other-error", "cannot be read"),
        (SERVER_FIRST[:-6], "cannot be read"),
        (f"r=another,s={SALT},i=4096".encode(), "does not begin with the client's"),
        (f"r={NONCE},s={SALT},i=4096".encode(), "does not begin with the client's"),
        (f"r={SERVER_NONCE},s={SALT},i=4095".encode(), "asks for 4095 iterations"),
        (f"r={SERVER_NONCE},s={SALT},i=999999999".encode(), "asks for 999999999 iterations"),
        (f"r={SERVER_NONCE},s=a,i=4096".encode(), "not base64"),
    ],
)
def test_x19_what_a_broker_does_not_say_first(answer: bytes, reason: str) -> None:
    with pytest.raises(BrokerRefused, match=reason) as caught:
        login().take(answer)
    assert "pencil" not in str(caught.value)


@pytest.mark.parametrize(
    "answer", [b"", b"e=invalid-proof", b"v=AAAA", b"v=" + base64.b64encode(bytes(32)), b"v=a"]
)
def test_x22_a_broker_that_proves_nothing(answer: bytes) -> None:
    client = login()
    client.take(SERVER_FIRST)
    with pytest.raises(BrokerRefused):
        client.take(answer)


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: f"r={NONCE}{text}".encode()))
def test_any_bytes_of_a_broker(data: bytes) -> None:
    client = login()
    for answer in (data, data):
        with suppress(BrokerRefused):
            client.take(answer)
