"""The broker's side of SCRAM, with the vector of RFC 7677.

Also tests: broker_lite.security.sasl.scram_mechanisms.
"""

import base64
import hashlib
import hmac
from typing import NamedTuple

import pytest

from broker_lite.security.sasl.mechanism import InvalidCredentials, Refused, Step, Unanswered
from broker_lite.security.sasl.scram import Credential, Scram, TokenCredential
from tests.differential.compare_sasl import scram_final

FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
SERVER_NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SERVER_FIRST = f"r=rOprNGfwEbeRWgbNEkqO{SERVER_NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
FINAL = f"c=biws,r=rOprNGfwEbeRWgbNEkqO{SERVER_NONCE},p="
PROOF = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="


class Stored(NamedTuple):
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


def stored(iterations: int = 4096) -> Stored:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    server_key = hmac.digest(salted, b"Server Key", "sha256")
    return Stored(salt, hashlib.sha256(client_key).digest(), server_key, iterations)


def scram(iterations: int = 4096) -> Scram:
    users: dict[str, Credential] = {"user": stored(iterations), "a,=b": stored()}
    return Scram("SCRAM-SHA-256", users.get, lambda: SERVER_NONCE)


def test_x16_x19_x21_x22_the_vector_of_the_rfc() -> None:
    exchange = scram()
    assert exchange.take(FIRST, 0) == Step(SERVER_FIRST.encode(), None, None)
    step = exchange.take((FINAL + PROOF).encode(), 0)
    assert step == Step(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", "user", None)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"y,,n=user,r=abc",
        b"n,,n=us=er,r=abc",
        b"n,,n=user,r=a b",
        b"n,,n=user,r=abc,tokenauth=true",
        b"n,,n=nobody,r=abc",
    ],
)
def test_x17_x18_first_messages_that_are_refused(message: bytes) -> None:
    with pytest.raises(InvalidCredentials):
        scram().take(message, 0)


def test_x17_an_escaped_name_and_another_id() -> None:
    assert scram().take(b"n,,n=a=2C=3Db,r=abc", 0).answer.startswith(b"r=abc")
    with pytest.raises(Refused, match="authorization id that is different from username"):
        scram().take(b"n,a=admin,n=user,r=abc", 0)


def test_x18_too_few_iterations() -> None:
    with pytest.raises(InvalidCredentials):
        scram(4095).take(FIRST, 0)


@pytest.mark.parametrize(
    "message", [b"", b"c=biws,r=abc,p=AAAA", (FINAL + "A" * 43 + "=").encode()]
)
def test_x20_x21_x23_final_messages_that_are_refused(message: bytes) -> None:
    exchange = scram()
    exchange.take(FIRST, 0)
    with pytest.raises(InvalidCredentials):
        exchange.take(message, 0)


def test_x10_a_proof_of_another_length() -> None:
    exchange = scram()
    exchange.take(FIRST, 0)
    with pytest.raises(Unanswered):
        exchange.take((FINAL + "AAAA").encode(), 0)


def test_x75_a_token_speaks_for_its_owner() -> None:
    tokens = {"id": TokenCredential(stored(), "alice", 5)}
    nonce = SERVER_NONCE
    exchange = Scram("SCRAM-SHA-256", {}.get, lambda: nonce, tokens.get)
    bare = "n=id,r=abc,tokenauth=TRUE"
    told = exchange.take(f"n,,{bare}".encode(), 0).answer.decode()
    final = scram_final(bare, told, "SCRAM-SHA-256", "pencil")
    step = exchange.take(final.encode(), 0)
    assert (step.name, step.expires_ms, step.is_by_token) == ("alice", 5, True)
    for first in (b"n,,n=user,r=abc,tokenauth=true", b"n,,n=id,r=abc,TOKENAUTH=true"):
        with pytest.raises(InvalidCredentials):
            Scram("SCRAM-SHA-256", {}.get, lambda: nonce, tokens.get).take(first, 0)
